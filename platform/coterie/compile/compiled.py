"""Compile a PyTorch device model into ordinary ONNX graphs: the train step and prediction."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import msgspec
import numpy as np
import onnx
import sympy
import torch
from msgspec import UNSET
from numpy.typing import NDArray
from onnx import helper
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.export import ExportedProgram
from torch.utils._sympy.numbers import int_oo

from coterie.compile.dtypes import TORCH_TYPES
from coterie.compile.emitter import ONNX_TYPES, Emitter
from coterie.compile.errors import BatchBecameConstant, BatchOutOfRange, NoGradient, UnsupportedSignature
from coterie.compile.frozen import specs_of
from coterie.compile.head import find_head
from coterie.compile.lengths import at_any_length, size_of_length
from coterie.compile.loss_program import Criterion, LossProgram, criterion
from coterie.compile.lower import lower
from coterie.compile.node_places import without_gradient
from coterie.compile.operators.noise import draws_noise
from coterie.compile.passes.joined_slices import joined_slices
from coterie.compile.passes.joined_transpositions import joined_transpositions
from coterie.compile.passes.last_state import last_state
from coterie.compile.passes.late_expand import late_expand
from coterie.compile.passes.pool_before_relu import pool_before_relu
from coterie.compile.passes.ranked_scalars import ranked_scalars
from coterie.compile.passes.shared_patches import shared_patches
from coterie.compile.program import CheckedProgram, check_program
from coterie.compile.ranges import Range, ranges_of
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss.custom import Custom
from coterie.compile.recipe.loss.next_token import NextToken
from coterie.compile.recipe.optimiser.second_order import SecondOrder
from coterie.compile.recipe.trains.whole import Whole
from coterie.compile.signature import Signature
from coterie.compile.sizes import Sources
from coterie.compile.source_locations import SourceLocation
from coterie.compile.trace import trace
from coterie.compile.train_step import train_step
from coterie_learning.second_order import solved_models
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import (
    DISTILLATION,
    LOSSES,
    length_axes,
    predict_inputs,
    predict_outputs,
    sample_inputs,
    train_inputs,
    train_outputs,
)
from coterie_wire.tensors import Array


class CompiledModel(NamedTuple):
    """The part of a compiled model that a device needs; `ModelSpec` states the contract of the graphs."""

    spec: ModelSpec
    train_step: bytes
    predict: bytes
    parameters: Mapping[str, NDArray[np.float32]]
    """The tensors of the first version: parameters and statistics."""
    frozen: Mapping[str, Array]
    ranges: Mapping[str, Range]
    """The ranges of integer inputs and targets, where the programs show them."""


def _usual_recipe(program: ExportedProgram) -> Recipe:
    return Recipe(optimiser=SecondOrder()) if solved_models(program.state_dict) else Recipe()


def compile_model(
    program: ExportedProgram,
    recipe: Recipe | None = None,
    *,
    batch_size: int,
    loss_program: ExportedProgram | None = None,
) -> CompiledModel:
    """The graphs and initial parameters of `program`; `export_module` makes one of an nn.Module.

    `recipe` is by default cross-entropy and SGD over all parameters, or sums of second derivatives where the model has
    tables for them. `batch_size` is the fixed number of samples in a train step; prediction takes any number.
    `loss_program` is the recipe's `Custom` loss; `export_loss` makes one.
    Raises UnsupportedOperator, which names the operator and its module, RunningStatistics, MutatedState, FixedBatch,
    BatchOutOfRange, BatchBecameConstant, LengthBecameConstant, UnboundedLength, UnsupportedSignature, UnsupportedLoss,
    LossMismatch, NothingTrains, UnsupportedParameter or NoGradient.
    """
    recipe = _usual_recipe(program) if recipe is None else recipe
    loss = criterion(recipe.loss, loss_program)
    checked = check_program(program, loss, recipe.trains)
    if isinstance(loss, LossProgram):
        loss.check_samples()
    _check_batch(program, checked, batch_size)
    _check_cut(checked.signature, recipe.cut)
    spec = _spec(program, checked, recipe, batch_size)
    try:
        graph, spec = _compile_train_step(checked, recipe, loss, spec)
    except NoGradient as error:
        graphs = [checked.training.graph, *([loss.graph] if isinstance(loss, LossProgram) else [])]
        place = without_gradient(str(error.__cause__), graphs)
        raise NoGradient(detail=error.fields["detail"], **place.fields()) from error.__cause__
    tensors = {**checked.parameters, **checked.statistics.values}
    return CompiledModel(
        spec=spec,
        train_step=graph,
        predict=_compile_predict(checked, spec, loss),
        parameters={tensor.name: tensors[tensor.name].numpy().copy() for tensor in spec.version},
        frozen=checked.frozen,
        ranges={**ranges_of(program), **(loss.ranges if isinstance(loss, LossProgram) else {})},
    )


class CompiledPrediction(NamedTuple):
    """The prediction graph of a model with separate tensors: the graph of a teacher."""

    signature: Signature
    parameters: tuple[TensorSpec, ...]
    """With the running statistics; the graph takes each as ``param.NAME``."""
    predict: bytes


def compile_prediction(program: ExportedProgram, loss: Criterion) -> CompiledPrediction:
    """The prediction graph only, of a model that no device trains. Raises what `compile_model` raises."""
    checked = check_program(program, loss, Whole(), freezes=False)
    signature, tensors = checked.signature, {**checked.parameters, **checked.statistics.values}
    given = {f"state.{name}": f"param.{name}" for name in checked.statistics.values}
    parameters = tuple(TensorSpec(name, "float32", tuple(tensor.shape)) for name, tensor in tensors.items())
    inputs = (*signature.inputs, *(TensorSpec(f"param.{spec.name}", "float32", spec.shape) for spec in parameters))
    prediction = checked.prediction.renamed(given)
    batched, output = {spec.name for spec in signature.inputs}, signature.output

    def predict(named: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return {output.name: prediction.forward(named)[0]}

    axes = {} if signature.length is None else {name: axis + 1 for name, axis in signature.length.axes.items()}
    graph = _compile_batched(checked, predict, inputs, batched, [output], axes)
    return CompiledPrediction(signature, parameters, graph)


def _spec(program: ExportedProgram, checked: CheckedProgram, recipe: Recipe, batch_size: int) -> ModelSpec:
    parameters = tuple(TensorSpec(name, "float32", tuple(tensor.shape)) for name, tensor in checked.parameters.items())
    return ModelSpec(
        inputs=checked.signature.inputs,
        target=checked.signature.target,
        output=checked.signature.output,
        task=checked.signature.task,
        batch_size=batch_size,
        parameters=parameters,
        optimiser_state=tuple(
            TensorSpec(f"{role}.{tensor.name}", "float32", tensor.shape)
            for role in recipe.optimiser.state()
            for tensor in parameters
        ),
        scalars=(
            "learning_rate",
            *recipe.optimiser.scalars(),
            *(["clip_norm"] if recipe.clipping else []),
            "proximal_weight",
            *([DISTILLATION] if recipe.distillation else []),
        ),
        statistics=checked.statistics.moments,
        frozen=specs_of(checked.frozen),
        head=find_head(program, checked.parameters.keys()) if checked.signature.task == "classes" else None,
        padding=recipe.loss.padding if isinstance(recipe.loss, NextToken) else None,
        own_loss=True if isinstance(recipe.loss, Custom) else UNSET,
        length=checked.signature.length or UNSET,
        cut=recipe.cut or UNSET,
    )


def _compile_train_step(
    checked: CheckedProgram, recipe: Recipe, loss: Criterion, spec: ModelSpec
) -> tuple[bytes, ModelSpec]:
    """The graph, and the contract, which now states whether the graph draws random numbers."""
    size, axes = size_of_length(checked.inputs), length_axes(spec)
    with nullcontext() if size is None else _fake_mode(checked):
        given = {name: _empty(tensor, length=size, axis=axes.get(name)) for name, tensor in train_inputs(spec).items()}
    program = checked.training._replace(graph=last_state(pool_before_relu(checked.training.graph)))
    with at_any_length(size):
        traced = trace(lambda named: train_step(program, recipe, loss, spec, named), given)
        shared_patches(traced.module)
        joined_transpositions(traced.module)
        joined_slices(traced.module)
        late_expand(traced.module)
        ranked_scalars(traced.module)
        spec = msgspec.structs.replace(spec, seeded=draws_noise(traced.module))
        inputs, outputs = train_inputs(spec), train_outputs(spec)
        emit = Emitter(_sources(given))
        values = dict(zip(traced.outputs, lower(traced.module, emit, list(given)), strict=True))
    graph = emit.finish(
        "train_step",
        [_info(tensor, length=axes.get(tensor.name)) for tensor in inputs.values()],
        {name: (values[name], _info(tensor)) for name, tensor in outputs.items()},
    )
    return graph, spec


def _compile_predict(checked: CheckedProgram, spec: ModelSpec, loss: Criterion) -> bytes:
    def predict(named: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        output = checked.prediction.forward(named)[0]
        if not isinstance(loss, LossProgram):
            return {spec.output.name: output}
        return {spec.output.name: output, LOSSES: loss.losses(output, named[spec.target.name])}

    batched = {tensor.name for tensor in sample_inputs(spec)}
    return _compile_batched(
        checked,
        predict,
        tuple(predict_inputs(spec).values()),
        batched,
        list(predict_outputs(spec).values()),
        length_axes(spec),
    )


def _compile_batched(
    checked: CheckedProgram,
    predict: Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]],
    inputs: Sequence[TensorSpec],
    batched: Collection[str],
    outputs: Sequence[TensorSpec],
    axes: Mapping[str, int],
) -> bytes:
    """A graph whose inputs `batched`, and whose outputs, have a batch axis of any size; `axes` are those of the length.

    Raises BatchBecameConstant or LengthBecameConstant.
    """
    batch = checked.inputs[checked.signature.inputs[0].name].shape[:1]
    with _fake_mode(checked):
        given = {
            tensor.name: checked.inputs[tensor.name]
            if tensor.name in checked.inputs
            else _empty(tensor, batch if tensor.name in batched else ())
            for tensor in inputs
        }

    def without_gradients(named: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        with torch.no_grad():
            return predict(named)

    with at_any_length(size_of_length(checked.inputs), batch[0]):
        traced = trace(without_gradients, given)
        emit = Emitter(_sources(given))
        values = dict(zip(traced.outputs, lower(traced.module, emit, list(given)), strict=True))
    if not (isinstance(batch[0], torch.SymInt) and batch[0].node.expr.free_symbols):
        raise BatchBecameConstant(detail=f"there the batch became {batch[0]}", **SourceLocation("", "").fields())
    return emit.finish(
        "predict",
        [_info(tensor, batched=tensor.name in batched, length=axes.get(tensor.name)) for tensor in inputs],
        {
            tensor.name: (values[tensor.name], _info(tensor, batched=True, length=axes.get(tensor.name)))
            for tensor in outputs
        },
    )


def _check_batch(program: ExportedProgram, checked: CheckedProgram, batch_size: int) -> None:
    batch = next(iter(checked.inputs.values())).shape[0]
    assert isinstance(batch, torch.SymInt)
    symbol = batch.node.expr
    bounds = program.range_constraints.get(symbol)
    if bounds is not None and not bounds.lower <= batch_size <= bounds.upper:
        largest = "any number of" if bounds.upper == int_oo else str(bounds.upper)
        raise BatchOutOfRange(batch_size=batch_size, smallest=int(bounds.lower), largest=largest)


def _check_cut(signature: Signature, cut: str) -> None:
    if cut and cut not in {tensor.name for tensor in signature.inputs if tensor.dtype == "float32"}:
        inputs = ", ".join(f"{tensor.dtype} {tensor.name!r}" for tensor in signature.inputs)
        raise UnsupportedSignature(found=f"its inputs are {inputs}, and the recipe cuts at float32 {cut!r}")


def _fake_mode(checked: CheckedProgram) -> FakeTensorMode:
    """The mode of the program's inputs, which has its symbols."""
    first = checked.inputs[checked.signature.inputs[0].name]
    assert isinstance(first, FakeTensor)
    return first.fake_mode


def _sources(given: Mapping[str, Tensor]) -> Sources:
    """Where to read the dynamic sizes of inputs."""
    found: dict[sympy.Symbol, tuple[str, int]] = {}
    for name, tensor in given.items():
        sizes: Sequence[int | torch.SymInt] = tensor.shape
        for axis, size in enumerate(sizes):
            if isinstance(size, torch.SymInt):
                found.setdefault(size.node.expr, (name, axis))
    return found


def _empty(
    tensor: TensorSpec, batch: Sequence[int] = (), *, length: torch.SymInt | None = None, axis: int | None = None
) -> Tensor:
    """A tensor whose `axis`, where given, has the `length`."""
    shape: list[int | torch.SymInt] = [*batch, *tensor.shape]
    if axis is not None and length is not None:
        shape[axis] = length
    return torch.empty(shape, dtype=TORCH_TYPES[tensor.dtype])


def _info(tensor: TensorSpec, *, batched: bool = False, length: int | None = None) -> onnx.ValueInfoProto:
    """`length` is its axis."""
    shape: list[int | str] = ["batch", *tensor.shape] if batched else list(tensor.shape)
    if length is not None:
        shape[length] = "length"
    return helper.make_tensor_value_info(tensor.name, ONNX_TYPES[TORCH_TYPES[tensor.dtype]], shape)
