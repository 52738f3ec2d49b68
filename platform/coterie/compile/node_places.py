"""The source locations of a graph's nodes."""

import re
from collections.abc import Iterable

from torch._ops import OpOverload
from torch.fx import GraphModule
from torch.fx.node import Node

from coterie.compile.source_locations import SourceLocation, line_of


def place_of(node: Node) -> SourceLocation:
    """Where a node was traced; for a gradient's node, the location of its nearest operand that has one."""
    return SourceLocation(_nearest_module(node), _nearest_line(node))


def _nearest_module(node: Node) -> str:
    for candidate in _nearest(node):
        if stack := candidate.meta.get("nn_module_stack"):
            return str(list(stack.values())[-1][0]).removeprefix("L['self'].").removeprefix("L['self']")
    return ""


def _nearest_line(node: Node) -> str:
    for candidate in _nearest(node):
        if isinstance(trace := candidate.meta.get("stack_trace"), str):
            return line_of(trace)
    return ""


def _nearest(node: Node) -> list[Node]:
    """The node, its operands, theirs, and so on."""
    seen, frontier, found = {node}, [node], []
    while frontier:
        found += frontier
        frontier = [source for candidate in frontier for source in candidate.all_input_nodes if source not in seen]
        seen.update(frontier)
    return found


def without_gradient(words: str, graphs: Iterable[GraphModule]) -> SourceLocation:
    """Which operator of `graphs` PyTorch means by the error `words`, that there is no gradient through it."""
    nodes = [node for graph in graphs for node in graph.graph.nodes if isinstance(node.target, OpOverload)]
    if named := re.search(r"derivative for (?:aten::)?(\w+)", words):
        found = (node for node in nodes if str(node.target).startswith(f"aten.{named[1]}."))
    else:
        found = (node for node in nodes if "inplace" in words and node.target._schema.is_mutable)
    node = next(found, None)
    return SourceLocation("", "") if node is None else place_of(node)
