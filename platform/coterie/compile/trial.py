"""Tries a compiled model on synthetic samples before it is accepted, and locates the cause of a failure."""

from collections.abc import Iterator, Mapping, Sequence, Set

import numpy as np
import torch
from msgspec import UNSET
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from coterie.compile.compiled import CompiledModel
from coterie.compile.errors import NotTrainable, PaddingCounts, SamplesMixed
from coterie.compile.flat import REFUSALS
from coterie.compile.node_places import place_of
from coterie.compile.service import in_service
from coterie.compile.source_locations import SourceLocation
from coterie.compile.synthetic import describe_ranges, flags, synthetic_batch, synthetic_scalars
from coterie.compile.watched import first_not_finite, first_to_differ, given_by
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from coterie.evaluation.train_step import Batch, DeviceSteps, Training
from coterie_wire.contract import at_length, padding_value
from coterie_wire.tensors import Array, Tensors, decode_tensors, encode_tensors

TRIED_STEPS = 3


def try_training(program: ExportedProgram, compiled: CompiledModel) -> None:
    """Train on synthetic samples, save and restore. Raises NotTrainable, SamplesMixed or PaddingCounts.

    Booleans may mark valid or padded positions; it suffices that the model trains with one of the two.
    """
    refused: list[NotTrainable] = []
    for flag in flags(compiled.spec.inputs):
        try:
            _try_steps(program, compiled, flag=flag)
        except NotTrainable as error:
            refused.append(error)
        else:
            break
    else:
        raise refused[0]
    if compiled.spec.batch_size > 1:
        try_alone(program, compiled)
    if compiled.spec.length is not UNSET:
        try_lengths(program, compiled)


def _try_steps(program: ExportedProgram, compiled: CompiledModel, *, flag: bool) -> None:
    model = compiled.spec
    batch, weights = synthetic_batch(model, compiled.ranges, flag=flag), synthetic_scalars(model)
    others: list[Batch] = []
    if model.length is not UNSET:
        others.append(synthetic_batch(at_length(model, model.length.shortest), compiled.ranges, flag=flag))
    steps = DeviceSteps(compiled.train_step, model, compiled.frozen)
    training = steps.begin(compiled.parameters)
    for tried in (*others, *[batch] * TRIED_STEPS):
        before = training
        training, loss, _ = steps.step(before, tried, weights, compiled.parameters)
        if not np.isfinite(loss) or _unusual(training.parameters):
            raise NotTrainable(detail=_why_not_finite(program, compiled, before, training, tried, loss))
    if all(np.array_equal(training.parameters[name], tensor) for name, tensor in compiled.parameters.items()):
        raise NotTrainable(
            detail=f"a step on synthetic samples ({describe_ranges(model.inputs, compiled.ranges)}) changes no "
            "parameter, as where the loss depends on none of them, or through .detach(), argmax, round and "
            "comparisons alone, which have no slope"
        )
    restored = decode_tensors(encode_tensors(training.parameters), expected=model.version)
    again_parameters = {name: tensor.astype(np.float32) for name, tensor in restored.items()}
    session = open_session(compiled.predict)
    logits, again = (
        predict_logits(session, tensors, batch.dataset, compiled.frozen)
        for tensors in (training.parameters, again_parameters)
    )
    if not np.isfinite(logits).all() or not np.array_equal(logits, again):
        raise NotTrainable(detail="restored parameters do not predict what the saved ones did")


def try_alone(program: ExportedProgram, compiled: CompiledModel) -> None:
    """Check that the output for a sample is the same in a batch and alone. Raises SamplesMixed."""
    session, batch = open_session(compiled.predict), synthetic_batch(compiled.spec, compiled.ranges).dataset
    alone = batch.take(slice(0, 1))
    together, again = (predict_logits(session, compiled.parameters, one, compiled.frozen) for one in (batch, alone))
    if not np.allclose(together[:1], again, rtol=1e-3, atol=1e-4):
        sizes = {1, compiled.spec.batch_size}
        place = _first_to_differ(program, compiled, alone.inputs, batch.inputs, sizes)
        raise SamplesMixed(**place.fields())


def try_lengths(program: ExportedProgram, compiled: CompiledModel) -> None:
    """Check that the output for a short sample does not change when it is padded. Raises PaddingCounts."""
    model, session = compiled.spec, open_session(compiled.predict)
    assert model.length is not UNSET, "only models with lengths are asked"
    short = synthetic_batch(at_length(model, model.length.shortest), compiled.ranges, ended=False).dataset
    filled = {
        spec.name: _filled(short.inputs[spec.name], (model.batch_size, *spec.shape), padding_value(spec, model))
        for spec in model.inputs
    }
    said, again = (
        predict_logits(session, compiled.parameters, Dataset(inputs, short.labels), compiled.frozen)
        for inputs in (short.inputs, filled)
    )
    if not np.allclose(said, again[tuple(map(slice, said.shape))], rtol=1e-3, atol=1e-4):
        sizes = {model.length.shortest, model.length.longest}
        place = _first_to_differ(program, compiled, short.inputs, filled, sizes)
        raise PaddingCounts(padding=model.padding or 0, **place.fields())


def _filled(array: Array, shape: tuple[int, ...], number: int) -> Array:
    """Padded as devices pad samples."""
    whole: Array = np.full(shape, number, array.dtype)
    whole[tuple(map(slice, array.shape))] = array
    return whole


def _unusual(tensors: Tensors) -> Sequence[str]:
    """The names of the tensors that are not finite."""
    return [name for name, tensor in tensors.items() if not bool(np.isfinite(tensor).all())]


def _why_not_finite(
    program: ExportedProgram, compiled: CompiledModel, before: Training, after: Training, batch: Batch, loss: float
) -> str:
    """Where a step on `batch` became non-finite, and the advice."""
    made_of = f"synthetic samples ({describe_ranges(compiled.spec.inputs, compiled.ranges)})"
    if said := _first_not_finite(program, before, batch):
        return (
            f"of {made_of} {said} is not finite: add a small number to what is divided by or what a logarithm or root "
            "is taken of, count at least one with .clamp(min=1), and let a mask of -inf hide no whole row"
        )
    if not np.isfinite(loss):
        return f"of {made_of} the output is finite, and the loss of it is not: its logarithms or quotients are at fault"
    names = _unusual(after.parameters)
    module = names[0].rpartition(".")[0] or "the model itself"
    return (
        f"of {made_of} the loss is finite, and the gradients of {', '.join(names[:3])} are not: what module {module!r} "
        "gives goes through a root, a norm or a quotient of 0, in the model or in its loss; add a small number inside "
        "it, before torch.where chooses"
    )


def _first_not_finite(program: ExportedProgram, before: Training, batch: Batch) -> str | None:
    """The first operator of the model with a non-finite result."""
    try:
        arguments = list(_arguments(program, before.parameters, batch.dataset.inputs))
        found = first_not_finite(program.graph_module, arguments)
    except REFUSALS:
        return None
    return None if found is None else f"what operator {found.target} in {place_of(found)} gives"


def _arguments(program: ExportedProgram, parameters: Tensors, inputs: Mapping[str, Array]) -> Iterator[Tensor]:
    """The arguments of `program`; those that are not among `parameters` are its own."""
    given = iter(inputs.values())
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            yield torch.from_numpy(np.array(next(given)))
            continue
        assert spec.target is not None
        source = program.state_dict if spec.target in program.state_dict else program.constants
        own, found = source[spec.target].detach().clone(), parameters.get(spec.target)
        yield own if found is None else torch.from_numpy(np.array(found)).reshape(own.shape)


def _first_to_differ(
    program: ExportedProgram,
    compiled: CompiledModel,
    less: Mapping[str, Array],
    more: Mapping[str, Array],
    sizes: Set[int],
) -> SourceLocation:
    """The first operator whose results for `more` do not begin with those for `less`.

    An axis in which they differ has both `sizes`.
    """
    module = in_service(program.graph_module, program.graph_signature.inputs_to_buffers)

    def begins_alike(longer: Tensor, shorter: Tensor) -> bool:
        if longer.dim() != shorter.dim():
            return True
        differ = [{own, other} for own, other in zip(longer.shape, shorter.shape, strict=True) if own != other]
        # Axes that are joined with that one begin with something else.
        return any(found != sizes for found in differ) or torch.allclose(
            longer[tuple(map(slice, shorter.shape))], shorter, rtol=1e-3, atol=1e-4, equal_nan=True
        )

    try:
        longer, shorter = (
            given_by(module, list(_arguments(program, compiled.parameters, inputs))) for inputs in (more, less)
        )
    except REFUSALS:
        return SourceLocation("", "")
    found = first_to_differ(longer, shorter, begins_alike)
    return SourceLocation("", "") if found is None else place_of(found)
