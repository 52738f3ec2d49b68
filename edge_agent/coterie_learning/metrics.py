"""Metrics of a model's output for each sample: the unmodified loss of its task, and the share that is right."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coterie_wire.bundle import Task

Numbers: TypeAlias = (
    NDArray[np.float32]
    | NDArray[np.float64]
    | NDArray[np.int64]
    | NDArray[np.int32]
    | NDArray[np.int8]
    | NDArray[np.uint8]
    | NDArray[np.bool_]
)
Float64: TypeAlias = NDArray[np.float64]


class SampleFigures(NamedTuple):
    """Metrics of samples, [n] each."""

    losses: Float64
    """Without label smoothing, class weights or a teacher, or by the model's own loss; may be not finite."""
    right: Float64 | None
    """Between 0 and 1; None where right and wrong are undefined for the task."""


def measure(
    task: Task, output: Numbers, target: Numbers, *, padding: int | None = None, own: Numbers | None = None
) -> SampleFigures:
    """Compare `output` [n, *output] with `target` [n, *target]; `padding` tokens do not count.

    `own` are the losses [n] by the model's own loss, where it has one.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        if own is None:
            return _task_figures(task, output, target, padding)
        if task == "values":  # whose targets may have any shape
            return SampleFigures(own.astype(np.float64), None)
        return SampleFigures(own.astype(np.float64), _task_figures(task, output, target, padding).right)


def _task_figures(task: Task, output: Numbers, target: Numbers, padding: int | None) -> SampleFigures:
    match task:
        case "classes":
            return SampleFigures(
                _negative_log_likelihood(output, target), (output.argmax(axis=1) == target).astype(np.float64)
            )
        case "tokens":
            present, right = target != padding, output.argmax(axis=2) == target
            return SampleFigures(_mean(_negative_log_likelihood(output, target), present), _mean(right, present))
        case "labels":
            wide, wanted = output.astype(np.float64), target.astype(np.float64)
            losses = np.maximum(wide, 0) + np.log1p(np.exp(-np.abs(wide))) - wanted * wide
            return SampleFigures(losses.mean(axis=1), ((wide > 0) == (wanted > 0.5)).mean(axis=1))
        case _:
            off = output.astype(np.float64) - target.astype(np.float64)
            return SampleFigures((off * off).reshape(len(off), -1).mean(axis=1), None)


def log_softmax(logits: Numbers) -> Float64:
    """Logarithms of the probabilities along the last axis."""
    shifted = logits.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # from huge logits: the caller checks for them
        shifted -= shifted.max(axis=-1, keepdims=True)
        shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def _negative_log_likelihood(logits: Numbers, target: Numbers) -> Float64:
    """Negative log-likelihood of the target, in the shape of the targets."""
    places = target.astype(np.int64)[..., None]
    return -np.take_along_axis(log_softmax(logits), places, axis=-1)[..., 0]


def _mean(values: NDArray[np.float64] | NDArray[np.bool_], present: NDArray[np.bool_]) -> Float64:
    """The mean over the positions that are present; 0 where none is."""
    total: Float64 = np.where(present, values, 0.0).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
    return total
