"""Operators that sort elements."""

import numpy as np

from coterie.compile.call import Call, OperatorTable

TABLE = OperatorTable()


@TABLE.lowers("topk.default")
def greatest(call: Call) -> tuple[str, ...]:
    return _top(call, call.whole("k"), largest=bool(call.arguments["largest"]))


@TABLE.lowers("sort.default", "sort.stable")
def sort(call: Call) -> tuple[str, ...]:
    return _top(call, _length(call), largest=bool(call.arguments["descending"]))


@TABLE.lowers("argsort.default", "argsort.stable")
def order(call: Call) -> str:
    return _top(call, _length(call), largest=bool(call.arguments["descending"]))[1]


@TABLE.lowers("median.dim")
def median(call: Call) -> tuple[str, ...]:
    """The lower of the two middle elements, as in PyTorch."""
    return _last(call, (_length(call) + 1) // 2)


@TABLE.lowers("kthvalue.default")
def smallest_but(call: Call) -> tuple[str, ...]:
    return _last(call, call.whole("k"))


def _length(call: Call) -> int:
    size = call.tensor("self").shape[call.whole("dim")]
    if not isinstance(size, int):
        raise NotImplementedError("it orders an axis whose size is dynamic: give the axis a fixed size")
    return size


def _top(call: Call, count: int, *, largest: bool) -> tuple[str, ...]:
    """Values and indices."""
    return call.emit.ops(
        "TopK", 2, call.raw("self"), call.emit.ints([count]), axis=call.whole("dim"), largest=int(largest)
    )


def _last(call: Call, count: int) -> tuple[str, ...]:
    """The greatest of the `count` smallest."""
    axis, emit = call.whole("dim"), call.emit
    last = emit.constant(np.array([count - 1] if call.arguments["keepdim"] else count - 1, np.int64))
    return tuple(emit.op("Gather", part, last, axis=axis) for part in _top(call, count, largest=False))
