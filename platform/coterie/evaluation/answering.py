"""The work of job `answer`: samples in, predictions out."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from coterie.child.job import ReportProgress
from coterie.evaluation.answer_job import AnswerArguments, AnswerNotFinite, AnswerResult
from coterie.evaluation.scoring import open_session, read_frozen
from coterie_learning.predictions import prediction_of
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import TARGET, at_length, length_of
from coterie_wire.tensors import Array, Float32, decode_tensors, read_header


def answer_samples(arguments: AnswerArguments, report: ReportProgress) -> AnswerResult:  # noqa: ARG001 - it is done at once
    """Run the graph on each sample. Raises AnswerNotFinite."""
    session = open_session(Path(arguments.graph).read_bytes())
    wanted = {value.name for value in session.get_inputs()}
    content = Path(arguments.parameters).read_bytes()
    stored = decode_tensors(content, expected=tuple(read_header(content).specs.values()))
    roles = ((f"{role}.{name}", tensor) for role in ("param", "state") for name, tensor in stored.items())
    weights = {name: tensor.astype(np.float32, copy=False) for name, tensor in roles if name in wanted}
    frozen = read_frozen(arguments.frozen, arguments.model)
    name = session.get_outputs()[0].name
    found = []
    for model, inputs in _batches(arguments):
        target = {TARGET: np.zeros((1, *model.target.shape), model.target.dtype)} if TARGET in wanted else {}
        (output,) = session.run([name], {**inputs, **target, **weights, **frozen})
        found.append(_checked(output[0], model))
    task, labels = arguments.model.task, arguments.labels
    return AnswerResult(tuple(prediction_of(output, task=task, labels=labels) for output in found))


def _batches(arguments: AnswerArguments) -> Iterator[tuple[ModelSpec, Mapping[str, Array]]]:
    """Each sample as a batch of its own, whose shapes are those of its length."""
    for sample in arguments.samples:
        numbers = np.frombuffer(sample, "<f4")
        length = length_of(arguments.model, len(numbers))
        assert length is not None, "the platform has looked at the sample"
        model = at_length(arguments.model, length)
        inputs: dict[str, Array] = {}
        start = 0
        for tensor in model.inputs:
            end = start + math.prod(tensor.shape)
            inputs[tensor.name] = numbers[start:end].reshape(1, *tensor.shape).astype(tensor.dtype)
            start = end
        yield model, inputs


def _checked(output: Float32, model: ModelSpec) -> Float32:
    if output.shape != model.output.shape:
        raise ValueError(f"the graph gives {output.shape}, and its contract says {model.output.shape}")
    if not np.isfinite(output).all():
        raise AnswerNotFinite
    return output
