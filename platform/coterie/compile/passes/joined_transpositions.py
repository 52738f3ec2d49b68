"""A transposition of a transposition becomes one, or none.

The gradient of a product transposes the factor that was transposed for the product.
"""

import torch
from torch.fx import GraphModule
from torch.fx.node import Node

aten = torch.ops.aten

TRANSPOSITIONS = {aten.permute.default, aten.t.default, aten.transpose.int}


def joined_transpositions(module: GraphModule) -> None:
    """Rewrites in place."""
    for node in module.graph.nodes:
        source = node.args[0] if node.target in TRANSPOSITIONS else None
        if not isinstance(source, Node) or source.target not in TRANSPOSITIONS:
            continue
        origin, first = source.args[0], _order(source)
        assert isinstance(origin, Node)
        joined = [first[axis] for axis in _order(node)]
        if joined == sorted(joined):
            node.replace_all_uses_with(origin)
        else:
            node.target, node.args, node.kwargs = aten.permute.default, (origin, joined), {}
    module.graph.eliminate_dead_code()


def _order(node: Node) -> list[int]:
    """Which axis of its source each axis of a transposition is."""
    assert callable(node.target)
    numbered = torch.empty(list(range(node.meta["val"].dim())), device="meta")
    return list(node.target(numbered, *node.args[1:]).shape)
