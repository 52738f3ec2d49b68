"""What a program must be to be compiled, and its flat form."""

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.node import Node

from coterie.learning.compile.errors import (
    ExportFailed,
    MutatedState,
    RunningStatistics,
    UnsupportedParameter,
    UnsupportedSignature,
)
from coterie.learning.compile.lower import module_path
from coterie.learning.compile.signature import Signature, check_signature, in_service, input_tensor
from coterie.learning.compile.trace import FlatProgram

BATCH_NORMS = ("aten.batch_norm.default", "aten._native_batch_norm_legit", "aten.native_batch_norm")


def export_module(module: nn.Module, example: Sequence[Tensor]) -> ExportedProgram:
    """`module` as a program in training mode, whose batch is dynamic. `example` are inputs with a leading batch axis.

    Raises ExportFailed.
    """
    batch = torch.export.Dim("batch", min=1)
    # A batch of 1 would be taken for a constant.
    doubled = tuple(torch.cat([tensor, tensor]) if len(tensor) == 1 else tensor for tensor in example)
    try:
        with warnings.catch_warnings():
            # Recurrent layers keep a list of their weights beside the weights; nothing is lost with it.
            warnings.filterwarnings("ignore", "The tensor attributes .* were assigned during export", UserWarning)
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
    signature: Signature


def check_program(program: ExportedProgram) -> CheckedProgram:
    """Raises RunningStatistics, MutatedState, UnsupportedParameter, UnsupportedSignature or FixedBatch."""
    _refuse_batch_norm(program)
    _refuse_mutation(program)
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
                    name = _tied(spec.target, tensor, parameters)
                    parameters[name] = tensor
                    arguments.append(_parameter(name))
                else:
                    arguments.append(tensor)
            case InputKind.USER_INPUT:
                inputs[node.name] = input_tensor(node)
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
        prediction=training._replace(graph=in_service(program)),
        inputs=inputs,
        parameters={name: _checked_parameter(name, tensor) for name, tensor in parameters.items()},
        signature=check_signature(program),
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


def _refuse_mutation(program: ExportedProgram) -> None:
    """Inputs written to, whether in place or by an output that replaces them."""
    for output in program.graph_signature.output_specs:
        if output.kind is not OutputKind.USER_OUTPUT:
            raise MutatedState(name=str(output.target))
    for node in program.graph.nodes:
        if not isinstance(node.target, OpOverload) or not node.target._schema.is_mutable:
            continue
        written = node.args[0]
        if isinstance(written, Node) and written.op == "placeholder":
            raise MutatedState(name=written.name.removeprefix("b_"))


def _tied(name: str, tensor: Tensor, known: Mapping[str, Tensor]) -> str:
    """The first name of a tensor that goes by several, as tied weights do: it is one parameter."""
    for first, other in known.items():
        if tensor.untyped_storage().data_ptr() == other.untyped_storage().data_ptr() and tensor.numel():
            if (tensor.shape, tensor.stride(), tensor.storage_offset()) != (
                other.shape,
                other.stride(),
                other.storage_offset(),
            ):
                raise UnsupportedParameter(name=name, found=f"another view of {first!r}'s memory")
            return first
    return name


def _checked_parameter(name: str, tensor: Tensor) -> Tensor:
    if tensor.dtype != torch.float32:
        raise UnsupportedParameter(name=name, found=str(tensor.dtype).removeprefix("torch."))
    if not bool(torch.isfinite(tensor).all()):
        raise UnsupportedParameter(name=name, found="not finite")
    return tensor.contiguous()
