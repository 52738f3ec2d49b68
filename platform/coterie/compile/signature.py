"""The inputs, output and target of a program."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx.node import Node

from coterie.compile.dtypes import INPUTS, advise_dtype
from coterie.compile.errors import FixedBatch, LossMismatch, UnsupportedSignature
from coterie.compile.lengths import dynamic_axes, find_length, shape_of_longest, size_of_length
from coterie.compile.loss_program import Criterion, LossProgram
from coterie.compile.node_places import place_of
from coterie.compile.recipe.loss.next_token import NextToken
from coterie_learning.local import StepScalars
from coterie_wire.bundle import MAX_NAME, Task, TensorSpec
from coterie_wire.contract import LOSSES, TARGET
from coterie_wire.length import Length
from coterie_wire.tensors import METADATA

RESERVED = frozenset({TARGET, LOSSES, "loss", "correct", "sample_weight", "teacher", "seed", "step"}) | frozenset(
    StepScalars.__struct_fields__
)
"""Names of graph inputs and outputs other than samples."""


class Signature(NamedTuple):
    """The specs of a model's inputs and output, for one sample."""

    inputs: tuple[TensorSpec, ...]
    output: TensorSpec
    target: TensorSpec
    """What the loss compares the output with."""
    task: Task
    length: Length | None = None
    """How samples differ in length; the shapes are those of the longest."""

    def __str__(self) -> str:
        inputs = ", ".join(f"{spec.dtype} {self._shown(spec)}" for spec in self.inputs)
        return f"{inputs} to {self._shown(self.output)}"

    def _shown(self, spec: TensorSpec) -> str:
        sizes = map(str, spec.shape) if self.length is None else self.length.sizes(spec.name, spec.shape)
        return f"[{', '.join(sizes)}]"


def check_signature(program: ExportedProgram, loss: Criterion) -> Signature:
    """Check the inputs and outputs. Raises UnsupportedSignature, UnboundedLength, LossMismatch or FixedBatch."""
    tensors = {node.name: input_tensor(node) for node in user_inputs(program)}
    length = find_length(program, tensors)
    inputs = tuple(
        TensorSpec(name, INPUTS[tensor.dtype], shape_of_longest(tensor, length)) for name, tensor in tensors.items()
    )
    if not inputs:
        raise UnsupportedSignature(found="it has no inputs")
    for name in (*program.state_dict, *(spec.name for spec in inputs)):
        if name == METADATA or len(name) > MAX_NAME:  # no tensor file can contain it
            raise UnsupportedSignature(found=f"a parameter or an input is called {name[:MAX_NAME]!r}")
    for spec in inputs:
        if spec.name in RESERVED:
            raise UnsupportedSignature(found=f"an input is called {spec.name!r}, as something else in the train step")
    outputs = _outputs(program, size_of_length(tensors))
    if len(outputs) > 1:
        return Signature(inputs, *_several(outputs, loss), loss.task, length)
    given = outputs[0]
    output = TensorSpec("values" if loss.task == "values" else "logits", "float32", shape_of_longest(given, length))
    target = loss.target(output)
    axes = dynamic_axes(given)[1:]
    # Of the losses only that of the next token knows which positions are padding.
    if target is None or (axes and not (isinstance(loss, NextToken) and axes == (1,))):
        sizes = ["length" if axis in axes else str(size) for axis, size in enumerate(output.shape, start=1)]
        raise LossMismatch(loss=loss.name, wanted=loss.expected_output(), found=f"[batch, {', '.join(sizes)}]")
    if length is not None and axes:
        _check_padding(loss, output)
        length = Length(length.shortest, length.longest, {**length.axes, target.name: 0, output.name: 0})
    return Signature(inputs, output, target, loss.task, length)


def _check_padding(loss: Criterion, output: TensorSpec) -> None:
    """Short samples are padded with a token that the model knows."""
    if isinstance(loss, NextToken) and loss.padding >= output.shape[-1]:
        raise UnsupportedSignature(
            found=f"its padding, token {loss.padding}, is beyond its vocabulary of {output.shape[-1]}"
        )


def user_inputs(program: ExportedProgram) -> list[Node]:
    """The placeholders of samples, without those of parameters and buffers."""
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs
    return [node for node, spec in zip(placeholders, specs, strict=True) if spec.kind is InputKind.USER_INPUT]


def input_tensor(node: Node) -> Tensor:
    """The fake tensor of an input, whose batch is symbolic, and perhaps its length."""
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or value.dim() < 1:
        found = f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise UnsupportedSignature(found=f"input {node.name} is {found}")
    if value.dtype not in INPUTS:
        raise UnsupportedSignature(found=f"input {node.name} is {value.dtype}; {advise_dtype(value.dtype)}")
    if isinstance(value.shape[0], int):
        raise FixedBatch(name=node.name)
    return value


def _several(outputs: Sequence[Tensor], loss: Criterion) -> tuple[TensorSpec, TensorSpec]:
    """For several outputs, all their numbers concatenated, and the target of a loss that takes all of them."""
    found = " and ".join(f"[batch, {', '.join(map(str, output.shape[1:]))}]" for output in outputs)
    if any(dynamic_axes(output) != (0,) for output in outputs):
        raise UnsupportedSignature(found="its outputs are several, and the size of one is dynamic: give one of them")
    shapes = [shape_of_longest(output, None) for output in outputs]
    target = loss.target_of(shapes) if isinstance(loss, LossProgram) else None
    if target is None:
        raise LossMismatch(loss=loss.name, wanted=loss.expected_output(), found=f"several outputs, {found}")
    return TensorSpec("values", "float32", (sum(math.prod(shape) for shape in shapes),)), target


def _outputs(program: ExportedProgram, length: torch.SymInt | None) -> Sequence[Tensor]:
    """The fake tensors of the outputs, [batch, ...], of whose further axes one may be the inputs' `length`."""
    (given,) = program.graph.output_node().args
    assert isinstance(given, (tuple, list))
    nodes = given[len(given) - len(program.graph_signature.user_outputs) :]
    values = [node.meta["val"] for node in nodes if isinstance(node, Node)]
    if len(values) != len(nodes) or not values:
        raise UnsupportedSignature(found="it gives what is no tensor: give tensors alone")
    for node, value in zip(nodes, values, strict=True):
        if (
            not isinstance(value, Tensor)
            or value.dim() < 2
            or value.dtype != torch.float32
            or dynamic_axes(value)[:1] != (0,)
            or [str(value.shape[axis]) for axis in dynamic_axes(value)[1:]] not in ([], [str(length)])
        ):
            raise UnsupportedSignature(found=_refused_output(node, value))
    return values


def _refused_output(node: object, value: object) -> str:
    """The problem with an output, its location, and the advice."""
    assert isinstance(node, Node)
    if not isinstance(value, Tensor):
        return f"its output, of {place_of(node)}, is no tensor"
    sizes = ", ".join("dynamic" if isinstance(size, torch.SymInt) else str(size) for size in value.shape)
    found = f"its output, of {place_of(node)}, is {str(value.dtype).removeprefix('torch.')} [{sizes}]"
    if value.dtype != torch.float32:
        return f"{found}: give float32, by .float()"
    if value.dim() < 2:
        return (
            f"{found}: give it an axis more, by .unsqueeze(1); and where it is a loss, let the model give what the "
            "loss takes, and choose the loss beside it"
        )
    return f"{found}: the first axis is the batch, and of the others one at most is dynamic, as long as the inputs are"
