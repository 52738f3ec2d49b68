"""Computing once what a graph computes several times."""

import torch
from torch._ops import OpOverload
from torch.fx import Graph
from torch.fx.node import Node


def share_computed_twice(graph: Graph) -> None:
    """Use the first of all nodes with the same operator and arguments; `graph` changes nothing in place.

    Not PyTorch's `fx_graph_cse`, which does the same: it loads the Inductor, half a second's work.
    """
    results = graph.output_node().all_input_nodes
    first: dict[str, Node] = {}
    for node in graph.nodes:
        if node.op != "call_function" or _draws(node) or node in results:
            continue
        # As text, in which 1, 1.0 and True are three things, and every node has a name of its own.
        alike = first.setdefault(f"{node.target} {node.args} {node.kwargs}", node)
        if alike is not node:
            node.replace_all_uses_with(alike)


def _draws(node: Node) -> bool:
    """Whether it computes something else each time."""
    return isinstance(node.target, OpOverload) and torch.Tag.nondeterministic_seeded in node.target.tags
