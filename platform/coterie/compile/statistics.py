"""Which batch normalisations of a program update their running statistics, and which use those they came with."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.node import Node

from coterie.compile.averages import Average, keep_buffers, moments_of, written_buffers, written_of_samples
from coterie.compile.errors import RunningStatistics
from coterie.compile.flat import BATCH_NORM
from coterie.compile.node_places import place_of
from coterie.compile.passes.copying import copy_graph
from coterie.compile.recipe.trains import Trains
from coterie_wire.bundle import RunningMoments, TensorSpec

TRAINING = 5
"""The argument of batch normalisation that is true where it updates its statistics."""


class Statistics(NamedTuple):
    """Running statistics that are sent with the parameters."""

    moments: tuple[RunningMoments, ...]
    values: Mapping[str, Tensor]
    """As the program has them, by name; averages are flat."""
    averages: Mapping[str, Average]
    """Those that the program itself writes to, by name."""


class Settled(NamedTuple):
    """A program whose other batch normalisations and averages are in evaluation mode, and that counts no batches."""

    graph: GraphModule
    statistics: Statistics


def settle_statistics(program: ExportedProgram, trains: Trains, *, freezes: bool) -> Settled:
    """A batch normalisation updates its statistics where its parameters are trained; one without parameters, where its
    name matches.

    The same holds for a buffer that the program writes to. Unless anything `freezes`, all do. Raises RunningStatistics
    or MutatedState.
    """
    module = copy_graph(program.graph_module)
    graph = module.graph
    moments: dict[str, RunningMoments] = {}
    fixed: list[str] = []
    for node in list(graph.nodes):
        if _counts_batches(node):
            graph.erase_node(node)
        elif str(node.target) == BATCH_NORM:
            found = _moments(program, node)
            if freezes and not (node.args[TRAINING] and _is_trained(program, node, trains)):
                node.update_arg(TRAINING, False)
            else:
                moments[found.mean.name] = found
        elif str(node.target) == "aten.instance_norm.default" and node.args[3] is not None:
            raise RunningStatistics(**place_of(node).fields())
    tensors = [tensor.name for pair in moments.values() for tensor in (pair.mean, pair.variance)]
    values = {name: program.state_dict[name].detach() for name in tensors}
    averages: dict[str, Average] = {}
    of_samples = written_of_samples(program, graph)
    for name, placeholder in written_buffers(program, graph).items():
        if freezes and not trains.trains(name):
            fixed.append(placeholder.name)
            continue
        tensor = program.state_dict[name].detach()
        moments[name] = moments_of(name, tensor)
        averages[name] = Average(f"state.{name}", tuple(tensor.shape), placeholder in of_samples)
        values |= {name: tensor.reshape(-1), moments[name].variance.name: torch.zeros(tensor.numel())}
    keep_buffers(graph, fixed)
    module.recompile()
    return Settled(module, Statistics(tuple(moments.values()), values, averages))


def _moments(program: ExportedProgram, node: Node) -> RunningMoments:
    signature = program.graph_signature
    mean, variance = node.args[3:5]
    if not isinstance(mean, Node) or not isinstance(variance, Node):
        raise RunningStatistics(**place_of(node).fields())
    names = [signature.inputs_to_buffers.get(place.name) for place in (mean, variance)]
    if names[0] is None or names[1] is None or any(name not in program.state_dict for name in names):
        raise RunningStatistics(**place_of(node).fields())
    shape = tuple(program.state_dict[names[0]].shape)
    return RunningMoments(TensorSpec(names[0], "float32", shape), TensorSpec(names[1], "float32", shape))


def _is_trained(program: ExportedProgram, node: Node, trains: Trains) -> bool:
    signature, weight, mean = program.graph_signature, node.args[1], node.args[3]
    assert isinstance(mean, Node)
    if not isinstance(weight, Node):
        return trains.trains(signature.inputs_to_buffers[mean.name])
    parameter = signature.inputs_to_parameters.get(weight.name)
    return parameter is not None and program.state_dict[parameter].requires_grad and trains.trains(parameter)


def _counts_batches(node: Node) -> bool:
    """PyTorch counts the batches that it normalised; the number is unused."""
    if node.target is not torch.ops.aten.add_.Tensor or node.users:
        return False
    counter = node.args[0]
    return isinstance(counter, Node) and counter.op == "placeholder" and len(counter.users) == 1
