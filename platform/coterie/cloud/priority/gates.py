"""A model's operators with gates: a parameter passes to its first operator once its update is done.

ByteScheduler's dependency proxy, by which a step's transfers continue during the next step's forward pass.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

from torch import Tensor, nn
from torch.fx import Graph, GraphModule
from torch.fx.node import Node

from coterie.cloud.program import CloudProgram


class Gate(nn.Module):
    """Placed before the first operator that reads a parameter."""

    def __init__(self, wait: Callable[[], None]) -> None:
        super().__init__()
        self._wait = wait

    def forward(self, parameter: Tensor) -> Tensor:
        """The parameter itself, after the wait."""
        self._wait()
        return parameter


def names_by_need(cloud: CloudProgram) -> list[str]:
    """The parameters that operators read, in the order in which a forward pass needs them."""
    whole = cloud.training_graph()
    places = {node: place for place, node in enumerate(whole.module.graph.nodes)}
    first = {
        name: min(places[user] for user in node.users)
        for node, name in whole.stored.items()
        if name in cloud.parameters and node.users
    }
    return sorted(first, key=lambda name: (first[name], name))


def gated(cloud: CloudProgram, waits: Mapping[str, Callable[[], None]]) -> GraphModule:
    """The training graph of `cloud`, with a gate for each parameter in `waits`."""
    whole = cloud.training_graph()
    graph, copies = Graph(), dict[Node, Node]()
    graph.output(graph.graph_copy(whole.module.graph, copies))
    parts: dict[str, Any] = {  # operators' own constants and subgraphs
        str(node.target): attrgetter(str(node.target))(whole.module) for node in graph.nodes if node.op == "get_attr"
    }
    places = {node: place for place, node in enumerate(graph.nodes)}
    for node, name in whole.stored.items():
        if name in waits:
            stored, gate = copies[node], f"gate_of_{node.name}"
            parts[gate] = Gate(waits[name])
            with graph.inserting_before(min(stored.users, key=places.__getitem__)):
                passed = graph.call_module(gate, (stored,))
            stored.replace_all_uses_with(passed, delete_user_cb=lambda user, gate=passed: user is not gate)  # type: ignore[misc]
    return GraphModule(parts, graph)
