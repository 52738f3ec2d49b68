"""Elementwise functions that ONNX has under another name, or that take a few of its operators."""

import math
from collections.abc import Callable

from coterie.compile.call import Call, OperatorTable

TABLE = OperatorTable()

UNARY = {
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "cosh": "Cosh",
    "sinh": "Sinh",
    "tan": "Tan",
}


def _unary(onnx_name: str) -> Callable[[Call], str]:
    return lambda call: call.emit.op(onnx_name, call["self"])


def _log(base: float) -> Callable[[Call], str]:
    return lambda call: call.emit.op(
        "Mul", call.emit.op("Log", call["self"]), call.emit.scalar(1 / math.log(base), call.dtype)
    )


for _name, _onnx in UNARY.items():
    TABLE[f"{_name}.default"] = _unary(_onnx)
TABLE["log2.default"] = _log(2)
TABLE["log10.default"] = _log(10)


@TABLE.lowers("exp2.default")
def power_of_two(call: Call) -> str:
    return call.emit.op("Exp", call.emit.op("Mul", call["self"], call.emit.scalar(math.log(2), call.dtype)))


@TABLE.lowers("erfc.default")
def complementary_error_function(call: Call) -> str:
    return call.emit.op("Sub", call.emit.scalar(1, call.dtype), call.emit.op("Erf", call["self"]))


@TABLE.lowers("isnan.default", "isinf.default")
def unusual(call: Call) -> str:
    if not call.tensor("self").dtype.is_floating_point:
        raise NotImplementedError("whole numbers are always finite: leave the question out")
    return call.emit.op("IsNaN" if "isnan" in str(call.node.target) else "IsInf", call.raw("self"))


@TABLE.lowers("trunc.default")
def truncate(call: Call) -> str:
    return truncated(call, call["self"])


def truncated(call: Call, value: str) -> str:
    """Rounded towards zero."""
    emit = call.emit
    return emit.op("Mul", emit.op("Sign", value), emit.op("Floor", emit.op("Abs", value)))


@TABLE.lowers("fmod.Tensor", "fmod.Scalar")
def remainder_of_dividend(call: Call) -> str:
    """With the sign of the dividend."""
    return call.emit.op("Mod", call["self"], call["other"], fmod=1)


@TABLE.lowers("remainder.Tensor", "remainder.Scalar")
def remainder_of_divisor(call: Call) -> str:
    """With the sign of the divisor; ONNX has that for integers only."""
    emit, number, divisor = call.emit, call["self"], call["other"]
    if not call.dtype.is_floating_point:
        return emit.op("Mod", number, divisor)
    whole = emit.op("Floor", emit.op("Div", number, divisor))
    return emit.op("Sub", number, emit.op("Mul", whole, divisor))


@TABLE.lowers("floor_divide.default", "div.Tensor_mode", "div.Scalar_mode")
def divide_to_whole(call: Call) -> str:
    """Rounded down or towards zero; ONNX divides integers towards zero."""
    emit, number, divisor = call.emit, call["self"], call["other"]
    mode = call.arguments.get("rounding_mode", "floor")
    if mode is None or not call.dtype.is_floating_point:
        if mode == "floor":
            number = emit.op("Sub", number, emit.op("Mod", number, divisor))
        return emit.op("Div", number, divisor)
    quotient = emit.op("Div", number, divisor)
    return emit.op("Floor", quotient) if mode == "floor" else truncated(call, quotient)


@TABLE.lowers("hypot.default")
def hypotenuse(call: Call) -> str:
    emit = call.emit
    squares = [emit.op("Mul", call[name], call[name]) for name in ("self", "other")]
    return emit.op("Sqrt", emit.op("Add", *squares))


@TABLE.lowers("atan2.default")
def angle(call: Call) -> str:
    """atan(y/x), half a turn further where x is negative; NaN at the origin."""
    emit, y, x = call.emit, call["self"], call["other"]

    def scalar(value: float) -> str:
        return emit.scalar(value, call.dtype)

    origin = emit.op("And", emit.op("Equal", x, scalar(0)), emit.op("Equal", y, scalar(0)))
    slope = emit.op("Atan", emit.op("Div", y, emit.op("Where", origin, scalar(1), x)))
    half = emit.op("Where", emit.op("Less", y, scalar(0)), scalar(-math.pi), scalar(math.pi))
    return emit.op("Add", slope, emit.op("Where", emit.op("Less", x, scalar(0)), half, scalar(0)))


@TABLE.lowers("elu.default")
def scaled_elu(call: Call) -> str:
    """ELU, CELU and SELU: scale·x, or scale·alpha·(exp(input_scale·x) − 1) below zero."""
    emit, x = call.emit, call["self"]
    alpha, scale, inner = (float(call.number(name)) for name in ("alpha", "scale", "input_scale"))
    if inner == 1:
        value = emit.op("Elu", x, alpha=alpha)
    else:
        below = emit.op("Sub", emit.op("Exp", emit.op("Mul", x, call["input_scale"])), emit.scalar(1, call.dtype))
        below = emit.op("Mul", below, call["alpha"])
        value = emit.op("Where", emit.op("Greater", x, emit.scalar(0, call.dtype)), x, below)
    return value if scale == 1 else emit.op("Mul", value, call["scale"])
