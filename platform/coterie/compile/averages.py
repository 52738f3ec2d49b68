"""Averages that a model keeps in its buffers while it trains, treated as running statistics of one mean each.

``self.centre.mul_(0.9).add_(0.1 * x.mean(0))``: a train step returns the buffer as it was written, and the platform
merges the buffers of devices as the means of batch normalisation. Their variance within a device is 0, so that the
merged variance is that between devices. The vectors of `spectral_norm` are uploaded so, too; they depend on the weights
and not on samples.
"""

import math
import operator
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import Graph
from torch.fx.node import Node

from coterie.compile.errors import MutatedState
from coterie.compile.node_places import place_of
from coterie_wire.bundle import RunningMoments, TensorSpec

aten = torch.ops.aten

VARIANCE = "{}.variance"


@dataclass(frozen=True)
class Average:
    """A buffer of a program, as a part of the flat tensor that the graphs take."""

    name: str
    shape: tuple[int, ...]
    of_samples: bool
    """Whether the value written depends on samples."""

    def __call__(self, named: Mapping[str, Tensor]) -> Tensor:
        """A tensor to write to."""
        return named[self.name].reshape(self.shape).clone()

    def gathered(self, written: Tensor, named: Mapping[str, Tensor], present: Tensor) -> Mapping[str, Tensor]:
        """The value after a step: as `written`, or, of samples that are not all `present` [batch], as it was before."""
        variance, kept = VARIANCE.format(self.name), written.reshape(-1)
        if self.of_samples:
            kept = torch.where(present.amin() > 0, kept, named[self.name])
        return {self.name: kept, variance: torch.zeros_like(named[variance])}


def moments_of(name: str, tensor: Tensor) -> RunningMoments:
    """The tensors uploaded for the buffer `name`."""
    shape = (math.prod(tensor.shape),)
    return RunningMoments(TensorSpec(name, "float32", shape), TensorSpec(VARIANCE.format(name), "float32", shape))


def written_buffers(program: ExportedProgram, graph: Graph) -> Mapping[str, Node]:
    """The buffers that `graph` overwrites entirely, by name. Raises MutatedState where they cannot be averages."""
    found: dict[str, Node] = {}
    for node in graph.nodes:
        target = _written(node)
        if target is None or target.name not in program.graph_signature.inputs_to_buffers:
            continue
        name = program.graph_signature.inputs_to_buffers[target.name]
        if name not in program.state_dict or program.state_dict[name].dtype != torch.float32:
            raise MutatedState(name=name, **place_of(node).fields())
        found[name] = target
    return found


def written_of_samples(program: ExportedProgram, graph: Graph) -> Collection[Node]:
    """The nodes that depend on the inputs of `program`, including buffers that are written to."""
    found = {node for node in graph.nodes if node.name in program.graph_signature.user_inputs}
    for node in graph.nodes:
        if found.intersection(node.all_input_nodes):
            found.update([node, *filter(None, [_written(node)])])
    return found


def keep_buffers(graph: Graph, buffers: Collection[str]) -> None:
    """Replace in-place writes to the placeholders `buffers` by their values, and return these."""
    for placeholder in [node for node in graph.nodes if node.op == "placeholder" and node.name in buffers]:
        while (writer := next(_writers(placeholder), None)) is not None:
            new = writer.args[1] if writer.target is aten.copy_.default else None
            if isinstance(new, Node) and new.op != "placeholder":
                new.replace_all_uses_with(placeholder, delete_user_cb=partial(operator.is_not, writer))
            writer.replace_all_uses_with(placeholder)
            graph.erase_node(writer)


def _writers(placeholder: Node) -> Iterator[Node]:
    return (user for user in placeholder.users if _writes(user) and user.args[0] is placeholder)


def _written(node: Node) -> Node | None:
    """The placeholder that a node writes to, directly or through other writers; None where it writes to none."""
    if not _writes(node):
        return None
    target = node.args[0]
    while isinstance(target, Node) and _writes(target):
        target = target.args[0]
    return target if isinstance(target, Node) and target.op == "placeholder" else None


def _writes(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable
