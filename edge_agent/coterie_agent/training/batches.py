"""Which samples a step sees: held-out split, seeded shuffling, padding and mask. Pure."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

import numpy as np

from coterie_agent.errors import AgentError
from coterie_agent.store.samples import StoredRow
from coterie_agent.training.filling import fill_inputs, fill_targets, lengths_of, longest_of
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import features
from coterie_wire.tensors import Array, Float32

HELD_OUT_SHARE = 0.2
_FEWEST_TO_SPLIT = 10


class Split(NamedTuple):
    """Sample numbers by what they serve."""

    train: Sequence[int]
    held_out: Sequence[int]


class Batch(NamedTuple):
    """Samples as the graphs take them."""

    inputs: Mapping[str, Array]
    """Each [size, *shape of one sample]."""
    target: Array
    """[size, *target of one sample]."""
    sample_weight: Float32
    """[size]; 0 for padding."""


def split(ids: Sequence[int], *, share: float = HELD_OUT_SHARE) -> Split:
    """A `share` is held out, always the same samples; of fewer than ten samples none, and all serve both ends.

    The choice hashes a sample's number (Fibonacci hashing: Knuth, The Art of Computer Programming 3, section 6.4), so
    that no order in which samples arrive is in step with it.
    """
    if len(ids) < _FEWEST_TO_SPLIT:
        return Split(ids, ids)
    hashed = (np.asarray(ids, dtype=np.uint64) * np.uint64(11400714819323198485)) >> np.uint64(32)
    held_out = hashed < share * 2**32
    numbers = np.asarray(ids)
    if held_out.all() or not held_out.any():
        return Split(ids, ids)
    return Split(numbers[~held_out].tolist(), numbers[held_out].tolist())


def steps_per_epoch(samples: int, batch_size: int) -> int:
    return math.ceil(samples / batch_size)


def batch_ids(train: Sequence[int], *, seed: int, step: int, batch_size: int) -> list[int]:
    """The samples of optimisation step `step` (0-based), a function of the arguments alone."""
    epoch, part = divmod(step, steps_per_epoch(len(train), batch_size))
    order = _order(len(train), seed, epoch)
    return [train[i] for i in order[part * batch_size : (part + 1) * batch_size]]


@lru_cache(maxsize=1)
def _order(samples: int, seed: int, epoch: int) -> Sequence[int]:
    """By lots, 64 bits each. Python's generator draws them: numpy.random would take 2.5 MB of memory."""
    bits = Random(f"{seed}/{epoch}")  # noqa: S311  # the same order for the same seed
    order: list[int] = np.frombuffer(bits.randbytes(8 * samples), "<u8").argsort(kind="stable").tolist()
    return order


def make_batch(rows: Sequence[StoredRow], spec: ModelSpec, *, size: int) -> Batch:
    """`rows`, filled up to the longest of them, and with samples of zeros to `size`, which are masked.

    Raises AgentError ``data.does_not_fit``.
    """
    weight = np.zeros(size, dtype=np.float32)
    weight[: len(rows)] = 1
    return Batch(make_inputs(rows, spec, size=size), _targets(rows, spec, size=size), weight)


def make_inputs(rows: Sequence[StoredRow], spec: ModelSpec, *, size: int) -> Mapping[str, Array]:
    """What the model takes of `rows`, filled up to the longest of them, and with samples of zeros to `size`.

    Raises AgentError ``data.does_not_fit``.
    """
    lengths = lengths_of(rows, spec)
    batch = longest_of(lengths, spec)
    x = np.zeros((size, features(batch)), dtype=np.float32)
    if rows:
        x[: len(rows)] = fill_inputs(rows, lengths, spec, batch)
    inputs: dict[str, Array] = {}
    start = 0
    for tensor in batch.inputs:
        end = start + math.prod(tensor.shape)
        part = x[:, start:end].reshape(size, *tensor.shape)
        inputs[tensor.name] = part.astype(tensor.dtype, copy=False)
        start = end
    return inputs


def _targets(rows: Sequence[StoredRow], spec: ModelSpec, *, size: int) -> Array:
    lengths = lengths_of(rows, spec)
    batch = longest_of(lengths, spec)
    target = np.zeros((size, *batch.target.shape), dtype=np.float32 if spec.target.dtype == "float32" else np.int64)
    if not rows:
        return target
    if spec.task == "classes":
        target[: len(rows)] = [row.label for row in rows]
    else:
        target[: len(rows)] = fill_targets(rows, lengths, spec, batch).reshape(len(rows), *batch.target.shape)
    if spec.task in ("classes", "tokens") and (target.min() < 0 or target.max() >= spec.output.shape[-1]):
        last, found = spec.output.shape[-1] - 1, target.max() if target.min() >= 0 else target.min()
        raise AgentError("data.does_not_fit", f"a label is {found}, the model's classes end at {last}")
    return target
