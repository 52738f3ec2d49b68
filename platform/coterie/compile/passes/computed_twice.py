"""Common-subexpression elimination."""

import torch
from torch._ops import OpOverload
from torch.fx import Graph
from torch.fx.node import Node


def share_computed_twice(graph: Graph) -> None:
    """Use the first of all nodes with the same operator and arguments; `graph` writes nothing in place.

    Not PyTorch's `fx_graph_cse`, which does the same: importing it loads the Inductor, which takes half a second.
    """
    results = graph.output_node().all_input_nodes
    first: dict[str, Node] = {}
    for node in graph.nodes:
        if node.op != "call_function" or _draws(node) or node in results:
            continue
        # As text, in which 1, 1.0 and True differ, and every node has a unique name.
        alike = first.setdefault(f"{node.target} {node.args} {node.kwargs}", node)
        if alike is not node:
            node.replace_all_uses_with(alike)


def _draws(node: Node) -> bool:
    """Whether it computes something else each time."""
    return isinstance(node.target, OpOverload) and torch.Tag.nondeterministic_seeded in node.target.tags
