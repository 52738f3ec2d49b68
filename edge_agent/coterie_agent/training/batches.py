"""Stored samples as the graphs take them: padding and mask. Pure."""

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from coterie_agent.errors import AgentError
from coterie_agent.store.samples import StoredRow
from coterie_agent.training.filling import fill_inputs, fill_targets, lengths_of, longest_of
from coterie_learning.client.optimisation import Batch
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import input_size
from coterie_wire.tensors import Array


class SampleSource(Protocol):
    """Where samples are kept."""

    def load(self, ids: Sequence[int], /) -> Sequence[StoredRow]:
        """The samples numbered `ids`, in that order; those removed since are left out."""


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
    x = np.zeros((size, input_size(batch)), dtype=np.float32)
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
