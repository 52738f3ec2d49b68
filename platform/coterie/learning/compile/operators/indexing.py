"""Operators that read and write by index."""

import torch
from torch.fx.node import Node

from coterie.learning.compile.call import Call, Table

TABLE = Table()


@TABLE.lowers("embedding.default")
def embedding(call: Call) -> str:
    return call.emit.op("Gather", call["weight"], call.raw("indices"), axis=0)


@TABLE.lowers("index_select.default")
def index_select(call: Call) -> str:
    return call.emit.op("Gather", call["self"], call.raw("index"), axis=call.whole("dim"))


@TABLE.lowers("gather.default")
def gather(call: Call) -> str:
    return call.emit.op("GatherElements", call["self"], call.raw("index"), axis=call.whole("dim"))


@TABLE.lowers("scatter_add.default")
def scatter_add(call: Call) -> str:
    axis = call.whole("dim")
    return call.emit.op("ScatterElements", call["self"], call.raw("index"), call["src"], axis=axis, reduction="add")


@TABLE.lowers("index.Tensor")
def index(call: Call) -> str:
    """Along one axis; other axes whole."""
    axis, positions = _only_index(call)
    return call.emit.op("Gather", call["self"], positions, axis=axis)


@TABLE.lowers("index_put.default", "_unsafe_index_put.default")
def index_put(call: Call) -> str:
    """Adds rows at indices along the first axis: the gradient of an index."""
    axis, positions = _only_index(call)
    if axis != 0 or not call.arguments["accumulate"]:
        raise NotImplementedError("writing by index other than adding rows")
    places = call.emit.op("Unsqueeze", positions, call.emit.ints([-1]))
    return call.emit.op("ScatterND", call["self"], places, call["values"], reduction="add")


def _only_index(call: Call) -> tuple[int, str]:
    indices = call.arguments["indices"]
    assert isinstance(indices, (list, tuple))
    given = [(axis, node) for axis, node in enumerate(indices) if isinstance(node, Node)]
    if len(given) != 1 or given[0][1].meta["val"].dtype != torch.int64:
        raise NotImplementedError("indices other than whole numbers along one axis")
    axis, node = given[0]
    value = call.values[node]
    assert isinstance(value, str)
    return axis, value
