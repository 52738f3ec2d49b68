"""A transposition of a transposition becomes one, or none.

The gradient of a product transposes the factor that was transposed for the product.
"""

from collections.abc import Sequence

import torch
from torch.fx import GraphModule
from torch.fx.node import Node

aten = torch.ops.aten


def joined_transpositions(module: GraphModule) -> None:
    """Rewrites in place."""
    for node in module.graph.nodes:
        order = _order(node)
        source = node.args[0] if order is not None else None
        first = _order(source) if isinstance(source, Node) else None
        if order is None or first is None or not isinstance(source, Node):
            continue
        origin = source.args[0]
        assert isinstance(origin, Node)
        joined = [first[axis] for axis in order]
        if joined == sorted(joined):
            node.replace_all_uses_with(origin)
        else:
            node.target, node.args, node.kwargs = aten.permute.default, (origin, joined), {}
    module.graph.eliminate_dead_code()


def _order(node: Node) -> Sequence[int] | None:
    """Which axis of its source each axis of a transposition is."""
    if node.target not in (aten.permute.default, aten.t.default, aten.transpose.int):
        return None
    axes = list(range(node.meta["val"].dim()))
    match node.target, node.args[1:]:
        case aten.permute.default, (dims,):
            return [axes[axis] for axis in dims]
        case aten.transpose.int, (one, other):
            axes[one], axes[other] = axes[other], axes[one]
            return axes
        case _:
            return axes[::-1]
