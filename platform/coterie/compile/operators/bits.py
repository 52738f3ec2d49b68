"""Operators on the bits of integers, and on booleans, which have one bit."""

from collections.abc import Callable

import torch

from coterie.compile.call import Call, OperatorTable

TABLE = OperatorTable()

OF_MASKS = {"and": "And", "or": "Or", "xor": "Xor"}
OF_NUMBERS = {"and": "BitwiseAnd", "or": "BitwiseOr", "xor": "BitwiseXor"}


def _bitwise(word: str) -> Callable[[Call], str]:
    def lower(call: Call) -> str:
        name = (OF_MASKS if call.dtype == torch.bool else OF_NUMBERS)[word]
        return call.emit.op(name, call["self"], call["other"])

    return lower


for _word in OF_MASKS:
    for _overload in ("Tensor", "Scalar"):
        TABLE[f"bitwise_{_word}.{_overload}"] = _bitwise(_word)


@TABLE.lowers("bitwise_not.default")
def bitwise_not(call: Call) -> str:
    return call.emit.op("Not" if call.dtype == torch.bool else "BitwiseNot", call["self"])


@TABLE.lowers("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "__lshift__.Tensor", "__lshift__.Scalar")
def shift_left(call: Call) -> str:
    """Times a power of two; ONNX shifts only unsigned integers."""
    return call.emit.op("Mul", call["self"], _power_of_two(call))


@TABLE.lowers(
    "bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "__rshift__.Tensor", "__rshift__.Scalar"
)
def shift_right(call: Call) -> str:
    """By a power of two, rounded down; ONNX divides towards zero."""
    emit, number, divisor = call.emit, call["self"], _power_of_two(call)
    return emit.op("Div", emit.op("Sub", number, emit.op("Mod", number, divisor)), divisor)


def _power_of_two(call: Call) -> str:
    places = call.arguments["other"]
    if isinstance(places, int):
        return call.emit.scalar(2**places, call.dtype)
    return call.emit.op("Pow", call.emit.scalar(2, call.dtype), call["other"])
