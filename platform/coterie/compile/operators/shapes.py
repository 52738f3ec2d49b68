"""Operators that permute, slice, join and create tensors."""

import sys

import numpy as np
import torch
from numpy.typing import NDArray
from torch.fx.node import Node

from coterie.compile.call import Call, Lowered, OperatorTable, same_sizes
from coterie.compile.emitter import NUMPY_TYPES, Size

TABLE = OperatorTable()


def axis_of(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


@TABLE.lowers(
    "view.default", "_unsafe_view.default", "reshape.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default"
)
def reshape(call: Call) -> Lowered:
    if same_sizes(call.tensor("self").shape, call.shape):
        return call["self"]
    return call.emit.op("Reshape", call["self"], target_shape(call, call.shape))


@TABLE.lowers("as_strided.default")
def contiguous(call: Call) -> Lowered:
    """PyTorch uses it to change the layout of memory; ONNX has no strides."""
    expected = torch.empty(call.shape, device="meta").stride()
    if (
        call.arguments["storage_offset"]
        or not same_sizes([call.tensor("self").numel()], [call.result.numel()])
        or tuple(call.ints("stride")) != expected
    ):
        raise NotImplementedError(
            "something is written into a part of a tensor that a gradient goes through: "
            "join the parts with torch.cat, or use torch.where or torch.slice_scatter"
        )
    return reshape(call)


def target_shape(call: Call, shape: tuple[Size, ...]) -> str:
    """ONNX infers one size, which suffices for the batch or the length."""
    if sum(not isinstance(size, int) for size in shape) > 1:
        return call.emit.shape(shape)
    return call.emit.ints([size if isinstance(size, int) else -1 for size in shape])


@TABLE.lowers("permute.default")
def permute(call: Call) -> str:
    rank = call.result.dim()
    return call.emit.op("Transpose", call["self"], perm=[axis_of(axis, rank) for axis in call.ints("dims")])


@TABLE.lowers("t.default")
def matrix_transpose(call: Call) -> str:
    return call.emit.op("Transpose", call["self"]) if call.result.dim() == 2 else call["self"]


@TABLE.lowers("transpose.int")
def transpose(call: Call) -> str:
    order = list(range(call.result.dim()))
    first, second = (axis_of(call.whole(name), len(order)) for name in ("dim0", "dim1"))
    order[first], order[second] = order[second], order[first]
    return call.emit.op("Transpose", call["self"], perm=order)


@TABLE.lowers("expand.default")
def expand(call: Call) -> str:
    here = tuple(call.tensor("self").shape)
    if same_sizes(here, call.shape):
        return call["self"]
    grown = len(call.shape) - len(here)
    # A 1 keeps the existing size, so that an unchanged batch needs no computed shape.
    target_sizes = [
        1 if axis >= grown and same_sizes([here[axis - grown]], [size]) else size
        for axis, size in enumerate(call.shape)
    ]
    return call.emit.op("Expand", call["self"], call.emit.shape(target_sizes))


@TABLE.lowers("repeat.default")
def repeat(call: Call) -> str:
    repeats = call.sizes("repeats")
    here = tuple(call.tensor("self").shape)
    padded = (1,) * (len(repeats) - len(here)) + here
    value = call["self"]
    if padded != here:
        value = call.emit.op("Reshape", value, target_shape(call, padded))
    return call.emit.op("Tile", value, call.emit.shape(repeats))


@TABLE.lowers("slice.Tensor")
def cut(call: Call) -> str:
    if call.whole("step") == 1 and same_sizes(call.tensor("self").shape, call.shape):
        return call["self"]
    start, end = call.size("start", default=0), call.size("end", default=sys.maxsize)
    ends = (call.emit.shape([bound]) for bound in (start, end, call.whole("dim"), call.whole("step")))
    return call.emit.op("Slice", call["self"], *ends)


@TABLE.lowers("select.int")
def select(call: Call) -> str:
    index = call.emit.constant(np.array(call.whole("index"), np.int64))
    return call.emit.op("Gather", call["self"], index, axis=call.whole("dim"))


@TABLE.lowers("split.Tensor", "split_with_sizes.default")
def split(call: Call) -> tuple[str, ...]:
    axis = call.whole("dim")
    sizes = [piece.shape[axis] for piece in call.node.meta["val"]]
    if len(sizes) == 1:
        return (call["self"],)
    return call.emit.ops("Split", len(sizes), call["self"], call.emit.shape(sizes), axis=axis)


@TABLE.lowers("unbind.int")
def unbind(call: Call) -> tuple[str, ...]:
    axis, count = call.whole("dim"), len(call.node.meta["val"])
    pieces = call.emit.ops("Split", count, call["self"], call.emit.ints([1] * count), axis=axis)
    return tuple(call.emit.op("Squeeze", piece, call.emit.ints([axis])) for piece in pieces)


@TABLE.lowers("cat.default")
def concatenate(call: Call) -> str:
    # PyTorch skips empty vectors of shape [0] whatever the rank of the others.
    values = [
        value if tensor.dtype == call.dtype else call.emit.cast(value, call.dtype)
        for value, tensor in zip(call.each("tensors"), call.tensors("tensors"), strict=True)
        if not same_sizes(tensor.shape, [0])
    ]
    return call.emit.op("Concat", *values, axis=call.whole("dim"))


@TABLE.lowers("flip.default")
def flip(call: Call) -> str:
    axes = call.ints("dims")
    ints = call.emit.ints
    ends = ints([-sys.maxsize] * len(axes))
    return call.emit.op("Slice", call["self"], ints([-1] * len(axes)), ends, ints(axes), ints([-1] * len(axes)))


@TABLE.lowers("constant_pad_nd.default")
def pad(call: Call) -> str:
    # PyTorch: (begin, end) from the last axis backwards. ONNX: all begins, then all ends, for the axes named.
    pads = call.sizes("pad")
    pairs = len(pads) // 2
    axes = [axis for axis in range(-1, -pairs - 1, -1) if not same_sizes(pads[2 * (-axis - 1) : -2 * axis], [0, 0])]
    if not axes:
        return call["self"]
    amounts = [pads[2 * (-axis - 1)] for axis in axes] + [pads[2 * (-axis - 1) + 1] for axis in axes]
    rank = call.result.dim()
    emit = call.emit
    return emit.op(
        "Pad",
        call["self"],
        emit.shape(amounts),
        call.cast("value", call.dtype),
        emit.ints([axis + rank for axis in axes]),
    )


@TABLE.lowers("full.default", "full_like.default", "scalar_tensor.default")
def full(call: Call) -> str:
    name = "fill_value" if "fill_value" in call.arguments else "s"
    return _filled(call, call.cast(name, call.dtype))


@TABLE.lowers(
    "zeros.default",
    "zeros_like.default",
    "new_zeros.default",
    "empty.memory_format",
    "empty_like.default",
    "empty_permuted.default",
    "empty_strided.default",
    "new_empty_strided.default",
)
def zeros(call: Call) -> str:
    return _filled(call, call.emit.scalar(0, call.dtype))


@TABLE.lowers("ones.default", "ones_like.default", "new_ones.default")
def ones(call: Call) -> str:
    return _filled(call, call.emit.scalar(1, call.dtype))


def _filled(call: Call, value: str) -> str:
    return value if call.shape == () else call.emit.op("Expand", value, call.emit.shape(call.shape))


@TABLE.lowers("arange.start_step")
def arange(call: Call) -> str:
    if any(isinstance(call.arguments[name], Node) for name in ("start", "end", "step")):
        return call.emit.op("Range", *(call.cast(name, call.dtype) for name in ("start", "end", "step")))
    start, end, step = (call.number(name) for name in ("start", "end", "step"))
    return call.emit.constant(np.arange(start, end, step, dtype=NUMPY_TYPES[call.dtype]))


@TABLE.lowers("eye.default", "eye.m")
def eye(call: Call) -> str:
    rows, *columns = (size for name in ("n", "m") if name in call.arguments for size in call.ints(name))
    return call.emit.constant(np.eye(rows, *columns, dtype=NUMPY_TYPES[call.dtype]))


@TABLE.lowers("triu_indices.default", "tril_indices.default")
def triangle(call: Call) -> str:
    """Rows and columns of the elements above, or below, a diagonal, [2, elements]."""
    find = np.triu_indices if "triu" in str(call.node.target) else np.tril_indices
    places = find(call.whole("row"), call.whole("offset"), call.whole("col"))
    return call.emit.constant(np.stack(places).astype(NUMPY_TYPES[call.dtype]))


@TABLE.lowers("slice_scatter.default")
def slice_scatter(call: Call) -> str:
    """Into zeros, as in the gradient of a slice, or into any tensor: elements outside the slice keep their values."""
    axis = axis_of(call.whole("dim"), call.result.dim())
    size, step = call.result.shape[axis], call.whole("step")
    start, end = call.size("start", default=0), call.size("end", default=sys.maxsize)
    if not isinstance(size, int) or not isinstance(start, int) or not isinstance(end, int):
        return _written_between(call, axis, start)
    rows = np.arange(size)[slice(start, end, step)]
    if len(rows) == 0:
        return call["self"]
    if len(rows) == size and step == 1:
        return call["src"]
    if step != 1:
        return _written_in_steps(call, axis, rows, size)
    before, after = (_unchanged(call, axis, *bounds) for bounds in ((0, int(rows[0])), (int(rows[-1]) + 1, size)))
    return call.emit.op("Concat", *before, call["src"], *after, axis=axis)


def _written_between(call: Call, axis: int, start: Size) -> str:
    """The source between the unchanged parts, where their sizes are not known."""
    emit, ints = call.emit, call.emit.ints
    if call.whole("step") != 1 or not isinstance(start, int) or start < 0:
        raise NotImplementedError("it writes into steps of an axis of dynamic size: write all of it, with torch.where")
    last = emit.shape([start + call.tensor("src").shape[axis]])
    before = _unchanged(call, axis, 0, start)
    after = emit.op("Slice", call["self"], last, ints([sys.maxsize]), ints([axis]))
    return emit.op("Concat", *before, call["src"], after, axis=axis)


def _written_in_steps(call: Call, axis: int, rows: NDArray[np.int64], size: int) -> str:
    """The source with gaps between its rows, at the places in the target that are written."""
    emit, ints, step = call.emit, call.emit.ints, call.whole("step")
    gapped = emit.op("Unsqueeze", call["src"], ints([axis + 1]))
    gapped = emit.op("Pad", gapped, ints([0, step - 1]), "", ints([axis + 1]))
    # A 0 keeps the existing size.
    spread = emit.op("Reshape", gapped, emit.shape([*[0] * axis, len(rows) * step, *call.shape[axis + 1 :]]))
    start = int(rows[0])
    room = size - start - len(rows) * step
    if room < 0:
        spread, room = emit.op("Slice", spread, ints([0]), ints([size - start]), ints([axis])), 0
    if start or room:
        spread = emit.op("Pad", spread, ints([start, room]), "", ints([axis]))
    written = np.zeros([size] + [1] * (call.result.dim() - axis - 1), np.bool_)
    written[rows] = True
    return emit.op("Where", emit.constant(written), spread, call["self"])


@TABLE.lowers("select_scatter.default")
def select_scatter(call: Call) -> str:
    axis = axis_of(call.whole("dim"), call.result.dim())
    size = call.result.shape[axis]
    if not isinstance(size, int):
        raise NotImplementedError("a row of the batch")
    index = axis_of(call.whole("index"), size)
    row = call.emit.op("Unsqueeze", call["src"], call.emit.ints([axis]))
    before, after = (_unchanged(call, axis, *bounds) for bounds in ((0, index), (index + 1, size)))
    return row if not before and not after else call.emit.op("Concat", *before, row, *after, axis=axis)


def _unchanged(call: Call, axis: int, start: int, end: int) -> tuple[str, ...]:
    if start == end:
        return ()
    ints = call.emit.ints
    return (call.emit.op("Slice", call["self"], ints([start]), ints([end]), ints([axis])),)
