"""Compute first, expand later: elementwise operators broadcast as they read, and expanding copies."""

import numpy as np
import torch
from torch.fx import GraphModule
from torch.fx.node import Node

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
    """Moves each expansion behind the elementwise operators that use it; where they broadcast anyway, it is dropped."""
    for node in module.graph.nodes:
        if node.target in ELEMENTWISE:
            _expand_after(node)
    module.graph.eliminate_dead_code()


def _expand_after(node: Node) -> None:
    originals = {source: _unexpanded(source) for source in node.all_input_nodes}
    if all(source is original for source, original in originals.items()):
        return
    value: torch.Tensor = node.meta["val"]
    shape = np.broadcast_shapes(*(tuple(original.meta["val"].shape) for original in originals.values()))
    for source, original in originals.items():
        node.replace_input_with(source, original)
    if shape == tuple(value.shape):
        return
    node.meta = {**node.meta, "val": torch.empty(shape, dtype=value.dtype, device="meta")}
    with node.graph.inserting_after(node):
        expanded = node.graph.call_function(aten.expand.default, (node, list(value.shape)))
    expanded.meta = {**node.meta, "val": value}
    node.replace_all_uses_with(expanded, delete_user_cb=lambda user: user is not expanded)


def _unexpanded(node: Node) -> Node:
    if node.target is not aten.expand.default:
        return node
    (source,) = node.all_input_nodes
    return source
