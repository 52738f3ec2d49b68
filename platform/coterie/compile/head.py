"""Finds the parameters of each class: those of the linear layer that gives the logits."""

from collections.abc import Collection

from torch.export import ExportedProgram
from torch.fx.node import Argument, Node

from coterie_wire.bundle import Head

PASSED_THROUGH = {"aten.alias.default", "aten.clone.default", "aten.contiguous.default", "aten.detach.default"}
"""Operators allowed between the layer and the output."""


def find_head(program: ExportedProgram, trained: Collection[str]) -> Head | None:
    """The layer whose result is the program's output, where all its parameters are `trained` and used nowhere else."""
    (outputs,) = program.graph.output_node().args
    assert isinstance(outputs, (tuple, list))
    node = outputs[-1]
    while isinstance(node, Node) and str(node.target) in PASSED_THROUGH:
        node = node.args[0]
    if not isinstance(node, Node) or str(node.target) != "aten.linear.default":
        return None
    weight = _parameter(program, node.args[1], trained)
    if weight is None:
        return None
    if len(node.args) < 3 or node.args[2] is None:
        return Head(weight)
    bias = _parameter(program, node.args[2], trained)
    return Head(weight, bias) if bias is not None else None


def _parameter(program: ExportedProgram, argument: Argument, trained: Collection[str]) -> str | None:
    if not isinstance(argument, Node) or len(argument.users) != 1:
        return None
    name = program.graph_signature.inputs_to_parameters.get(argument.name)
    if name not in trained:
        return None
    place = program.state_dict[name].data_ptr()
    tied = [other for other in program.graph_signature.parameters if program.state_dict[other].data_ptr() == place]
    return name if tied == [name] else None
