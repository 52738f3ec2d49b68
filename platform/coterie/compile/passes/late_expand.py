"""Compute first, expand later: elementwise operators broadcast as they read, and expanding copies."""

from collections.abc import Iterable, Sequence

import torch
from torch.fx import GraphModule
from torch.fx.node import Node

from coterie.compile.call import same_sizes
from coterie.compile.emitter import Size
from coterie.compile.passes.sizes import as_arguments

aten = torch.ops.aten

ELEMENTWISE = {
    aten.add.Tensor,
    aten.sub.Tensor,
    aten.mul.Tensor,
    aten.mul.Scalar,
    aten.div.Tensor,
    aten.div.Scalar,
    aten.neg.default,
    aten.where.self,
    aten.threshold_backward.default,
}


def late_expand(module: GraphModule) -> None:
    """Move each expansion behind the elementwise operators that use it; where they broadcast anyway, drop it."""
    for node in module.graph.nodes:
        if node.target in ELEMENTWISE:
            _expand_after(node)
    module.graph.eliminate_dead_code()


def _expand_after(node: Node) -> None:
    tensors = [source for source in node.all_input_nodes if isinstance(source.meta["val"], torch.Tensor)]
    originals = {source: _unexpanded(source) for source in tensors}
    if all(source is original for source, original in originals.items()):
        return
    value: torch.Tensor = node.meta["val"]
    shape = _broadcast(original.meta["val"].shape for original in originals.values())
    for source, original in originals.items():
        node.replace_input_with(source, original)
    if same_sizes(shape, value.shape):
        return
    node.meta = {**node.meta, "val": torch.empty(shape, dtype=value.dtype, device="meta")}
    with node.graph.inserting_before(node.next):
        expanded = node.graph.call_function(aten.expand.default, (node, as_arguments(node.graph, value.shape)))
    expanded.meta = {**node.meta, "val": value}
    node.replace_all_uses_with(expanded, delete_user_cb=lambda user: user is not expanded)


def _unexpanded(node: Node) -> Node:
    if node.target is not aten.expand.default:
        return node
    source = node.args[0]
    assert isinstance(source, Node)
    return source


def _broadcast(shapes: Iterable[Sequence[Size]]) -> Sequence[Size]:
    """The shape of the result of tensors of these `shapes`, in which only sizes fixed at 1 differ."""
    found: list[Size] = []
    for shape in shapes:
        found = [*[1] * (len(shape) - len(found)), *found]
        for axis, size in enumerate(shape, start=len(found) - len(shape)):
            if not (isinstance(size, int) and size == 1):
                found[axis] = size
    return found
