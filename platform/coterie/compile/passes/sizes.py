"""Sizes as arguments of nodes that a rewrite adds."""

from collections.abc import Sequence

from torch.fx import Graph
from torch.fx.node import Argument

from coterie.compile.emitter import Size


def as_arguments(graph: Graph, sizes: Sequence[Size]) -> Argument:
    """`sizes`, those that depend on the length of samples as nodes, added where nodes are being inserted."""
    if all(isinstance(size, int) for size in sizes):
        return list(sizes)
    return graph.materialize_symints(list(sizes))
