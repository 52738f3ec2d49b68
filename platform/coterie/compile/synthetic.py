"""Synthetic samples for trying a train step before there are real ones."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from coterie.evaluation.datasets import Dataset, Targets
from coterie.evaluation.train_step import Batch
from coterie_learning.local import StepScalars
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import padding_value
from coterie_wire.tensors import Array

Ranges = Mapping[str, tuple[int, int]]
"""By the name of an input, the range of integers that it takes, where that is known."""
OF_A_BYTE = (0, 255)
OF_EVERY_TABLE = (0, 1)


def synthetic_batch(model: ModelSpec, ranges: Ranges, *, flag: bool = True, ended: bool = True) -> Batch:
    """As realistic as possible: valid integers, numbers between 0 and 1, and a teacher with uniform probabilities.

    Every other sample is padded in its last third, unless `ended` is false; what has no room for that is whole. The
    first half of booleans is `flag`, because models mask either the valid or the padded positions.
    """
    generator = np.random.default_rng(0)
    count = model.batch_size
    inputs = {
        spec.name: synthetic_array(
            spec, count, generator, ranges, filled=padding_value(spec, model), flag=flag, ended=ended
        )
        for spec in model.inputs
    }
    if model.classes:
        targets: Array = np.arange(count, dtype=np.int64) % model.classes
    else:
        known = {model.target.name: (0, model.output.shape[-1] - 1)} if model.task == "tokens" else ranges
        # A single number has nothing to pad, and 0 is one of its values.
        fills = (model.padding or 0) if model.target.shape else None
        targets = synthetic_array(model.target, count, generator, known, filled=fills, flag=flag, ended=ended)
    teacher = np.full((count, *model.output.shape), 1 / model.output.shape[-1], np.float32)
    return Batch(Dataset(inputs, cast(Targets, targets)), teacher)


def synthetic_array(
    spec: TensorSpec,
    count: int,
    generator: np.random.Generator,
    ranges: Ranges,
    *,
    filled: int | None = 0,
    flag: bool = True,
    ended: bool = True,
) -> Array:
    """`count` samples of one tensor; `filled` is the integer used for padding, if any."""
    shape = (count, *spec.shape)
    if spec.dtype == "float32":
        return generator.random(shape, np.float32)
    size = shape[-1]
    if spec.dtype == "bool":
        first = np.arange(size) < (size + 1) // 2
        return np.broadcast_to(first if flag else ~first, shape).copy()
    low, high = _range(spec, ranges)
    drawn = generator.integers(low, high + 1, shape)
    if filled is None:
        return drawn.astype(spec.dtype)
    drawn[drawn == filled] = high if high != filled else low
    if ended and len(spec.shape) == 1 and low <= filled <= high:
        drawn[1::2, size - size // 3 :] = filled
    return drawn.astype(spec.dtype)


def flags(inputs: Sequence[TensorSpec]) -> tuple[bool, ...]:
    """The booleans to try first, since their meaning is unknown."""
    return (True, False) if any(spec.dtype == "bool" for spec in inputs) else (True,)


def describe_ranges(inputs: Sequence[TensorSpec], ranges: Ranges) -> str:
    """The contents of the samples, for people."""
    return ", ".join(_described(spec, ranges) for spec in inputs)


def synthetic_scalars(model: ModelSpec) -> StepScalars:
    """The train step's scalars that a plan sets, each with a value that has an effect."""
    tried = {"momentum": 0.9, "weight_decay": 0.01, "clip_norm": 1.0, "distillation_weight": 0.5}
    return StepScalars(
        learning_rate=0.01,
        proximal_weight=0.01,
        **{name: value for name, value in tried.items() if name in model.scalars},
    )


def _range(spec: TensorSpec, ranges: Ranges) -> tuple[int, int]:
    return ranges.get(spec.name, OF_A_BYTE if spec.dtype == "uint8" else OF_EVERY_TABLE)


def _described(spec: TensorSpec, ranges: Ranges) -> str:
    if spec.dtype == "float32":
        return f"{spec.name} of numbers between 0 and 1"
    if spec.dtype == "bool":
        return f"{spec.name} half true, half false"
    low, high = _range(spec, ranges)
    return f"{spec.name} of whole numbers from {low} to {high}"
