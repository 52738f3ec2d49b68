"""Operators that work on each element."""

import math
from collections.abc import Callable

import torch

from coterie.compile.call import Call, OperatorTable, same_sizes

TABLE = OperatorTable()

UNARY = {
    "abs": "Abs",
    "ceil": "Ceil",
    "cos": "Cos",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "log": "Log",
    "neg": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "round": "Round",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sqrt": "Sqrt",
    "tanh": "Tanh",
}
BINARY = {"mul": "Mul", "maximum": "Max", "minimum": "Min", "pow": "Pow"}
OF_MASKS = {"Mul": "And", "Min": "And", "Max": "Or"}
COMPARISON = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
LOGICAL = {"and": "And", "or": "Or", "xor": "Xor"}


def _unary(onnx_name: str) -> Callable[[Call], str]:
    return lambda call: call.emit.op(onnx_name, call["self"])


def _binary(onnx_name: str) -> Callable[[Call], str]:
    def lower(call: Call) -> str:
        names = list(call.arguments)
        if call.dtype == torch.bool:
            return call.emit.op(OF_MASKS[onnx_name], call[names[0]], call[names[1]])
        return call.emit.op(onnx_name, call[names[0]], call[names[1]])

    return lower


def _comparison(onnx_name: str) -> Callable[[Call], str]:
    def lower(call: Call) -> str:
        dtype = _common_dtype(call)
        return call.emit.op(onnx_name, call.cast("self", dtype), call.cast("other", dtype))

    return lower


def _logical(onnx_name: str) -> Callable[[Call], str]:
    return lambda call: call.emit.op(onnx_name, call.cast("self", torch.bool), call.cast("other", torch.bool))


def _common_dtype(call: Call) -> torch.dtype:
    """The dtype in which PyTorch compares; ONNX compares equal dtypes only."""
    other = call.arguments["other"]
    dtype = torch.result_type(call.tensor("self"), other if isinstance(other, (int, float)) else call.tensor("other"))
    return torch.int64 if dtype in (torch.bool, torch.uint8, torch.int8) else dtype


for _name, _onnx in UNARY.items():
    TABLE[f"{_name}.default"] = _unary(_onnx)
for _name, _onnx in BINARY.items():
    for _overload in ("Tensor", "Scalar", "default", "Tensor_Scalar", "Tensor_Tensor"):
        TABLE[f"{_name}.{_overload}"] = _binary(_onnx)
for _name, _onnx in COMPARISON.items():
    for _overload in ("Tensor", "Scalar"):
        TABLE[f"{_name}.{_overload}"] = _comparison(_onnx)
for _name, _onnx in LOGICAL.items():
    TABLE[f"logical_{_name}.default"] = _logical(_onnx)


@TABLE.lowers("ne.Tensor", "ne.Scalar")
def not_equal(call: Call) -> str:
    return call.emit.op("Not", _comparison("Equal")(call))


@TABLE.lowers("logical_not.default")
def logical_not(call: Call) -> str:
    return call.emit.op("Not", call.cast("self", torch.bool))


@TABLE.lowers("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar")
def add(call: Call) -> str:
    other = call["other"]
    if call.number("alpha") != 1:
        other = call.emit.op("Mul", other, call.cast("alpha", call.dtype))
    return call.emit.op("Add" if "add" in str(call.node.target) else "Sub", call["self"], other)


@TABLE.lowers("rsub.Scalar")
def reversed_subtract(call: Call) -> str:
    return call.emit.op("Sub", call["other"], call["self"])


@TABLE.lowers("div.Tensor", "div.Scalar")
def divide(call: Call) -> str:
    return call.emit.op("Div", call["self"], call["other"])


@TABLE.lowers("rsqrt.default")
def reciprocal_root(call: Call) -> str:
    return call.emit.op("Reciprocal", call.emit.op("Sqrt", call["self"]))


@TABLE.lowers("log1p.default")
def log_of_one_more(call: Call) -> str:
    return call.emit.op("Log", call.emit.op("Add", call["self"], call.emit.scalar(1, call.dtype)))


@TABLE.lowers("expm1.default")
def exponential_less_one(call: Call) -> str:
    return call.emit.op("Sub", call.emit.op("Exp", call["self"]), call.emit.scalar(1, call.dtype))


@TABLE.lowers("clamp.default", "clamp.Tensor", "hardtanh.default")
def clamp(call: Call) -> str:
    low, high = ("min_val", "max_val") if "min_val" in call.arguments else ("min", "max")
    value = call["self"]
    if call.arguments[low] is not None:
        value = call.emit.op("Max", value, call[low])
    if call.arguments[high] is not None:
        value = call.emit.op("Min", value, call[high])
    return value


@TABLE.lowers("leaky_relu.default")
def leaky_relu(call: Call) -> str:
    return call.emit.op("LeakyRelu", call["self"], alpha=float(call.number("negative_slope")))


@TABLE.lowers("gelu.default")
def gelu(call: Call) -> str:
    """0.5·x·(1 + erf(x/√2)), or its approximation by tanh (Hendrycks and Gimpel 2016, arXiv 1606.08415, section 2)."""
    emit, x = call.emit, call["self"]

    def scalar(value: float) -> str:
        return emit.scalar(value, call.dtype)

    if call.arguments["approximate"] == "tanh":
        cubic = emit.op("Mul", emit.op("Mul", emit.op("Mul", x, x), x), scalar(0.044715))
        inner = emit.op("Tanh", emit.op("Mul", emit.op("Add", x, cubic), scalar(math.sqrt(2 / math.pi))))
    else:
        inner = emit.op("Erf", emit.op("Mul", x, scalar(math.sqrt(0.5))))
    return emit.op("Mul", emit.op("Mul", x, scalar(0.5)), emit.op("Add", inner, scalar(1)))


@TABLE.lowers("threshold_backward.default")
def threshold_gradient(call: Call) -> str:
    """A steep sigmoid as a step function, and a product: half as much again as fast as a comparison and a selection."""
    if call.number("threshold") != 0:
        above = call.emit.op("Greater", call["self"], call["threshold"])
        return call.emit.op("Where", above, call["grad_output"], call.emit.scalar(0, call.dtype))
    step = call.emit.op("HardSigmoid", call["self"], alpha=STEEPEST, beta=0.0)
    return call.emit.op("Mul", step, call["grad_output"])


STEEPEST = 3e38
"""Times the least normal float32, more than 1; a gradient through even smaller numbers is scaled down."""


@TABLE.lowers("where.self")
def where(call: Call) -> str:
    return call.emit.op("Where", call.raw("condition"), call["self"], call["other"])


@TABLE.lowers("_to_copy.default", "clone.default", "alias.default", "detach.default", "lift_fresh_copy.default")
def copy(call: Call) -> str:
    return call["self"]


@TABLE.lowers("copy.default")
def overwrite(call: Call) -> str:
    if same_sizes(call.tensor("src").shape, call.shape):
        return call["src"]
    return call.emit.op("Expand", call["src"], call.emit.shape(call.shape))


@TABLE.lowers("_native_batch_norm_legit_no_training.default")
def scale_and_shift(call: Call) -> tuple[str, ...]:
    """The other outputs, statistics, are empty and unused."""
    operands = (call.raw(name) for name in ("input", "weight", "bias", "running_mean", "running_var"))
    return (call.emit.op("BatchNormalization", *operands, epsilon=float(call.number("eps"))),)


@TABLE.lowers("coterie.dequantise.default")
def dequantise(call: Call) -> str:
    return call.emit.op("DequantizeLinear", call.raw("code"), call.raw("scale"), axis=0)
