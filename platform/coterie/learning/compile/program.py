"""What a program must be to be compiled, and its flat form."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.node import Node

from coterie.learning.compile.errors import (
    ExportFailed,
    FixedBatch,
    MutatedState,
    RunningStatistics,
    UnsupportedParameter,
    UnsupportedSignature,
)
from coterie.learning.compile.lower import module_path
from coterie.learning.compile.trace import FlatProgram

BATCH_NORMS = ("aten.batch_norm.default", "aten._native_batch_norm_legit", "aten.native_batch_norm")
DROPOUTS = ("aten.dropout.default", "aten.feature_dropout.default", "aten.alpha_dropout.default")


def export_module(module: nn.Module, example: Sequence[Tensor]) -> ExportedProgram:
    """`module` as a program in training mode, whose batch is dynamic. `example` are inputs with a leading batch axis.

    Raises ExportFailed.
    """
    batch = torch.export.Dim("batch", min=1)
    # A batch of 1 would be taken for a constant.
    doubled = tuple(torch.cat([tensor, tensor]) if len(tensor) == 1 else tensor for tensor in example)
    try:
        return torch.export.export(module.train(), doubled, dynamic_shapes=tuple({0: batch} for _ in doubled))
    except (RuntimeError, ValueError, TypeError, AssertionError) as error:
        raise ExportFailed(detail=str(error).strip().splitlines()[0][:400]) from error


class CheckedProgram(NamedTuple):
    """A program that fits the contract of a model."""

    training: FlatProgram
    prediction: FlatProgram
    """Without dropout."""
    inputs: Mapping[str, Tensor]
    """Fake tensors with a symbolic batch, by name."""
    parameters: Mapping[str, Tensor]
    classes: int


def check_program(program: ExportedProgram) -> CheckedProgram:
    """Raises RunningStatistics, MutatedState, UnsupportedParameter, UnsupportedSignature or FixedBatch."""
    _refuse_batch_norm(program)
    for output in program.graph_signature.output_specs:
        if output.kind is not OutputKind.USER_OUTPUT:
            raise MutatedState(name=str(output.target))
    parameters: dict[str, Tensor] = {}
    inputs: dict[str, Tensor] = {}
    arguments: list[str | Tensor] = []
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    for spec, node in zip(program.graph_signature.input_specs, placeholders, strict=True):
        match spec.kind:
            case InputKind.PARAMETER:
                assert spec.target is not None
                tensor = program.state_dict[spec.target].detach()
                if program.state_dict[spec.target].requires_grad:
                    parameters[spec.target] = _checked_parameter(spec.target, tensor)
                    arguments.append(_parameter(spec.target))
                else:
                    arguments.append(tensor)
            case InputKind.USER_INPUT:
                inputs[node.name] = _checked_input(node)
                arguments.append(_input(node.name))
            case InputKind.BUFFER | InputKind.CONSTANT_TENSOR:
                assert spec.target is not None
                source = program.state_dict if spec.target in program.state_dict else program.constants
                arguments.append(source[spec.target].detach())
            case other:
                raise UnsupportedSignature(found=f"argument {node.name} is a {other.name.lower()}")
    if not inputs or not parameters:
        raise UnsupportedSignature(found=f"{len(inputs)} inputs and {len(parameters)} trainable parameters")
    training = FlatProgram(
        program.graph_module,
        tuple(_parameter(name) for name in parameters),
        tuple(_input(name) for name in inputs),
        tuple(arguments),
    )
    return CheckedProgram(
        training=training,
        prediction=training._replace(graph=_without_dropout(program)),
        inputs=inputs,
        parameters=parameters,
        classes=_classes(program),
    )


def _parameter(name: str) -> str:
    return f"param.{name}"


def _input(name: str) -> str:
    return f"input.{name}"


def _refuse_batch_norm(program: ExportedProgram) -> None:
    for node in program.graph.nodes:
        if str(node.target).startswith(BATCH_NORMS):
            raise RunningStatistics(module=module_path(node))
        if str(node.target) == "aten.instance_norm.default" and node.args[3] is not None:
            raise RunningStatistics(module=module_path(node))


def _checked_parameter(name: str, tensor: Tensor) -> Tensor:
    if tensor.dtype != torch.float32:
        raise UnsupportedParameter(name=name, found=str(tensor.dtype).removeprefix("torch."))
    if not bool(torch.isfinite(tensor).all()):
        raise UnsupportedParameter(name=name, found="not finite")
    return tensor.contiguous()


def _checked_input(node: Node) -> Tensor:
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or value.dtype not in (torch.float32, torch.int64) or value.dim() < 1:
        found = f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise UnsupportedSignature(found=f"input {node.name} is {found}")
    dynamic = [axis for axis, size in enumerate(value.shape) if not isinstance(size, int)]
    if dynamic != [0]:
        raise FixedBatch(name=node.name)
    return value


def _classes(program: ExportedProgram) -> int:
    (outputs,) = program.graph.output_node().args
    assert isinstance(outputs, (tuple, list))
    value = outputs[0].meta["val"] if len(outputs) == 1 and isinstance(outputs[0], Node) else None
    if (
        not isinstance(value, Tensor)
        or value.dim() != 2
        or value.dtype != torch.float32
        or isinstance(value.shape[0], int)
    ):
        found = f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else f"{len(outputs)} outputs"
        raise UnsupportedSignature(found=f"its output is {found}")
    classes = value.shape[1]
    if not isinstance(classes, int) or classes < 2:
        raise UnsupportedSignature(found=f"its output has {classes} classes")
    return classes


def _without_dropout(program: ExportedProgram) -> torch.fx.GraphModule:
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(program.graph_module.graph, {}))
    for node in list(graph.nodes):
        if str(node.target) in DROPOUTS:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return torch.fx.GraphModule(program.graph_module, graph)
