"""Operators that reduce axes: sums, means, extremes."""

import math
from collections.abc import Callable

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from coterie.compile.call import Call, OperatorTable

TABLE = OperatorTable()

FLOAT_COUNTS = 1 << 24
"""The greatest number up to which float32 represents all integers."""
REDUCTIONS = {
    "sum": "ReduceSum",
    "mean": "ReduceMean",
    "amax": "ReduceMax",
    "amin": "ReduceMin",
    "prod": "ReduceProd",
}


def _reduction(onnx_name: str) -> Callable[[Call], str]:
    def lower(call: Call) -> str:
        axes, keep = call.ints("dim") if "dim" in call.arguments else [], bool(call.arguments.get("keepdim", False))
        if onnx_name == "ReduceSum" and _counts_few(call):
            counts = _reduce(call, onnx_name, call.cast("self", torch.float32), axes, keep=keep)
            return call.emit.cast(counts, call.dtype)
        return _reduce(call, onnx_name, call["self"], axes, keep=keep)

    return lower


def _reduce(call: Call, onnx_name: str, value: str, axes: list[int], *, keep: bool) -> str:
    return call.emit.op(onnx_name, value, *([call.emit.ints(axes)] if axes else []), keepdims=int(keep))


def _counts_few(call: Call) -> bool:
    """Whether it counts true elements, and float32 can count so far: runtimes take ten times as long for integers."""
    tensor = call.tensor("self")
    return tensor.dtype == torch.bool and statically_known_true(tensor.numel() <= FLOAT_COUNTS)


for _name, _onnx in REDUCTIONS.items():
    for _overload in ("default", "dim", "dim_IntList", "dim_int"):
        TABLE[f"{_name}.{_overload}"] = _reduction(_onnx)


@TABLE.lowers("argmax.default", "argmin.default")
def argument_of_extreme(call: Call) -> str:
    name = "ArgMax" if "argmax" in str(call.node.target) else "ArgMin"
    if call.arguments["dim"] is None:
        raise NotImplementedError("the extreme of all elements")
    return call.emit.op(name, call.raw("self"), axis=call.whole("dim"), keepdims=int(bool(call.arguments["keepdim"])))


@TABLE.lowers("max.dim", "min.dim")
def extreme(call: Call) -> tuple[str, str]:
    name = "Max" if "max" in str(call.node.target) else "Min"
    keep = bool(call.arguments["keepdim"])
    value = _reduce(call, f"Reduce{name}", call["self"], [call.whole("dim")], keep=keep)
    return value, call.emit.op(f"Arg{name}", call.raw("self"), axis=call.whole("dim"), keepdims=int(keep))


@TABLE.lowers("var_mean.correction")
def variance_and_mean(call: Call) -> tuple[str, str]:
    mean, variance = _moments(call)
    return variance, mean


@TABLE.lowers("var.correction")
def variance(call: Call) -> str:
    return _moments(call)[1]


def _moments(call: Call) -> tuple[str, str]:
    """Mean and variance; the variance divides by n less the correction (Bessel's is 1, PyTorch's default)."""
    emit, tensor = call.emit, call.tensor("self")
    axes, keep = call.ints("dim") or list(range(tensor.dim())), bool(call.arguments["keepdim"])
    correction = call.arguments["correction"]
    counts = [tensor.shape[axis] for axis in axes]
    centre = _reduce(call, "ReduceMean", call["self"], axes, keep=True)
    off = emit.op("Sub", call["self"], centre)
    total = _reduce(call, "ReduceSum", emit.op("Mul", off, off), axes, keep=keep)
    divisor = math.prod(counts) - (correction if isinstance(correction, (int, float)) else 1)
    mean = centre if keep else emit.op("Squeeze", centre, emit.ints(axes))
    if isinstance(divisor, (torch.SymInt, torch.SymFloat)):
        return mean, emit.op("Div", total, emit.number(divisor, call.dtype))
    return mean, emit.op("Mul", total, emit.scalar(1 / divisor, call.dtype))


@TABLE.lowers("cumsum.default")
def running_sum(call: Call) -> str:
    return call.emit.op("CumSum", call["self"], call.emit.ints([call.whole("dim")]))


@TABLE.lowers("linalg_vector_norm.default")
def norm(call: Call) -> str:
    emit, x, order = call.emit, call["self"], call.number("ord")
    axes, keep = call.ints("dim"), bool(call.arguments["keepdim"])
    match order:
        case 1 | 2:
            return _reduce(call, f"ReduceL{int(order)}", x, axes, keep=keep)
        case math.inf:
            return _reduce(call, "ReduceMax", emit.op("Abs", x), axes, keep=keep)
        case _ if order < 1:
            raise NotImplementedError(f"the norm of order {order:g} is none")
    powers = emit.op("Pow", emit.op("Abs", x), emit.scalar(order, call.dtype))
    return emit.op("Pow", _reduce(call, "ReduceSum", powers, axes, keep=keep), emit.scalar(1 / order, call.dtype))


@TABLE.lowers("any.dim", "any.dims", "any.default")
def any_of(call: Call) -> str:
    axes = call.ints("dim") if "dim" in call.arguments else []
    counts = _reduce(
        call, "ReduceMax", call.cast("self", torch.int32), axes, keep=bool(call.arguments.get("keepdim", False))
    )
    return call.emit.cast(counts, torch.bool)


@TABLE.lowers("_softmax.default")
def softmax(call: Call) -> str:
    return call.emit.op("Softmax", call["self"], axis=call.whole("dim"))


@TABLE.lowers("_log_softmax.default")
def log_softmax(call: Call) -> str:
    return call.emit.op("LogSoftmax", call["self"], axis=call.whole("dim"))
