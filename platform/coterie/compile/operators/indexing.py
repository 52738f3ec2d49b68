"""Operators that read and write by index."""

from collections.abc import Mapping, Sequence

import torch
from torch.fx.node import Node

from coterie.compile.call import Call, OperatorTable, meta, same_sizes
from coterie.compile.emitter import Size

TABLE = OperatorTable()

SCATTERED = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "add": "add", "multiply": "mul"}


@TABLE.lowers("embedding.default")
def embedding(call: Call) -> str:
    emit, places, table = call.emit, call.raw("indices"), call.arguments["weight"]
    assert isinstance(table, Node)
    if str(table.target) != "coterie.dequantise.default":
        return emit.op("Gather", call["weight"], places, axis=0)
    # Of a frozen table only the rows that are read become float32.
    code, scale = (call.values[node] for node in table.all_input_nodes)
    assert isinstance(code, str) and isinstance(scale, str)
    rows = emit.cast(emit.op("Gather", code, places, axis=0), torch.float32)
    return emit.op("Mul", rows, emit.op("Unsqueeze", emit.op("Gather", scale, places, axis=0), emit.ints([-1])))


@TABLE.lowers("index_select.default")
def index_select(call: Call) -> str:
    return call.emit.op("Gather", call["self"], call.raw("index"), axis=call.whole("dim"))


@TABLE.lowers("gather.default")
def gather(call: Call) -> str:
    return call.emit.op("GatherElements", call["self"], call.raw("index"), axis=call.whole("dim"))


@TABLE.lowers("scatter_add.default")
def scatter_add(call: Call) -> str:
    return _scatter(call, call["src"], "add")


@TABLE.lowers("scatter.src")
def scatter(call: Call) -> str:
    return _scatter(call, call["src"])


@TABLE.lowers("scatter.value")
def scatter_value(call: Call) -> str:
    spread = call.emit.op("Expand", call.cast("value", call.dtype), call.emit.shape(tuple(call.tensor("index").shape)))
    return _scatter(call, spread)


@TABLE.lowers("scatter_reduce.two", "scatter.reduce")
def scatter_reduce(call: Call) -> str:
    reduction = str(call.arguments["reduce"])
    if reduction not in SCATTERED or call.arguments.get("include_self", True) is not True:
        raise NotImplementedError("it reduces by sum, prod, amax or amin, and with include_self only")
    return _scatter(call, call["src"], SCATTERED[reduction])


def _scatter(call: Call, source: str, reduction: str = "none") -> str:
    places, axis = call.tensor("index"), call.whole("dim")
    if "src" in call.arguments and not same_sizes(call.tensor("src").shape, places.shape):
        raise NotImplementedError("it takes a source of its index's shape: cut the source to it")
    return call.emit.op("ScatterElements", call["self"], call.raw("index"), source, axis=axis, reduction=reduction)


@TABLE.lowers("index.Tensor", "_unsafe_index.Tensor")
def index(call: Call) -> str:
    """By integers along any axes; the others stay whole."""
    given = _indices(call)
    if len(given) == 1:
        ((axis, node),) = given.items()
        return call.emit.op("Gather", call["self"], _value(call, node), axis=axis)
    order, back = _orders(given, call.tensor("self").dim())
    rows = call.emit.op("GatherND", _permuted(call, call["self"], order), _places(call, given))
    return _permuted(call, rows, back)


@TABLE.lowers("index_put.default", "_unsafe_index_put.default")
def index_put(call: Call) -> str:
    """Writes, or adds, by integers along any axes."""
    given, target = _indices(call), call.tensor("self")
    order, back = _orders(given, target.dim())
    rows = [*_index_shape(given), *(target.shape[axis] for axis in order[len(given) :])]
    as_read = [rows[axis] for axis in back]
    values = call["values"]
    if not same_sizes(call.tensor("values").shape, as_read):
        values = call.emit.op("Expand", values, call.emit.shape(as_read))
    written = call.emit.op(
        "ScatterND",
        _permuted(call, call["self"], order),
        _places(call, given),
        _permuted(call, values, _inverse(back)),
        reduction="add" if call.arguments["accumulate"] else "none",
    )
    return _permuted(call, written, _inverse(order))


def _indices(call: Call) -> Mapping[int, Node]:
    """The indices by their axes."""
    indices = call.arguments["indices"]
    assert isinstance(indices, (list, tuple))
    given = {axis: node for axis, node in enumerate(indices) if isinstance(node, Node)}
    if any(meta(node).dtype == torch.bool for node in given.values()):
        raise NotImplementedError("it picks by a mask, and how many elements that gives depends on the data")
    return given


def _orders(given: Mapping[int, Node], rank: int) -> tuple[list[int], list[int]]:
    """The permutation that puts the indexed axes first, and the permutation of the gathered result into PyTorch's
    order.

    There, adjacent indexed axes are replaced in place; others come first.
    """
    axes = sorted(given)
    kept = [axis for axis in range(rank) if axis not in given]
    spread = len(_index_shape(given))
    before = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    rows = list(range(spread + len(kept)))
    return axes + kept, rows[spread : spread + before] + rows[:spread] + rows[spread + before :]


def _inverse(order: Sequence[int]) -> list[int]:
    return [order.index(axis) for axis in range(len(order))]


def _permuted(call: Call, value: str, order: Sequence[int]) -> str:
    return value if list(order) == sorted(order) else call.emit.op("Transpose", value, perm=order)


def _index_shape(given: Mapping[int, Node]) -> list[Size]:
    """The broadcast shape of the indices."""
    shapes = [tuple(meta(node).shape) for node in given.values()]
    wide = max(len(shape) for shape in shapes)
    columns = zip(*((1,) * (wide - len(shape)) + shape for shape in shapes), strict=True)
    return [next((size for size in sizes if not (isinstance(size, int) and size == 1)), 1) for sizes in columns]


def _places(call: Call, given: Mapping[int, Node]) -> str:
    """int64 [*broadcast shape of the indices, number of indexed axes]."""
    emit, shape = call.emit, _index_shape(given)
    columns = []
    for axis in sorted(given):
        value = _value(call, given[axis])
        if not same_sizes(meta(given[axis]).shape, shape):
            value = emit.op("Expand", value, emit.shape(shape))
        columns.append(emit.op("Unsqueeze", value, emit.ints([-1])))
    return columns[0] if len(columns) == 1 else emit.op("Concat", *columns, axis=-1)


def _value(call: Call, node: Node) -> str:
    value = call.values[node]
    assert isinstance(value, str)
    return value if meta(node).dtype == torch.int64 else call.emit.cast(value, torch.int64)
