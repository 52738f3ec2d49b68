"""Samples of different length, filled up to the longest of their batch. Pure."""

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from msgspec import UNSET

from coterie_agent.errors import AgentError
from coterie_agent.store.samples import FLOAT_BYTES, StoredRow
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import accepted_sizes, at_length, length_of, padding_value
from coterie_wire.tensors import Float32


def lengths_of(rows: Sequence[StoredRow], spec: ModelSpec) -> Sequence[int]:
    """How long each sample is; 0 where the model knows no lengths.

    Raises AgentError ``data.does_not_fit``.
    """
    sizes = [len(row.x) for row in rows]
    by_size = {size: _length(size // FLOAT_BYTES, spec) for size in set(sizes)}
    return [by_size[size] for size in sizes]


def longest_of(lengths: Sequence[int], spec: ModelSpec) -> ModelSpec:
    """The contract of a batch of samples that have these `lengths`."""
    return at_length(spec, max(lengths, default=0 if spec.length is UNSET else spec.length.shortest))


def fill_inputs(rows: Sequence[StoredRow], lengths: Sequence[int], spec: ModelSpec, batch: ModelSpec) -> Float32:
    """The samples flattened as `batch` has them, [rows, features]."""
    if spec.length is UNSET:  # nothing is filled up; a step waits for this
        flat: Float32 = np.frombuffer(b"".join([row.x for row in rows]), dtype=np.float32)
        return flat.reshape(len(rows), -1)
    fillers = [padding_value(tensor, spec) for tensor in spec.inputs]
    filled = [
        _filled(row.x, at_length(spec, length).inputs, batch.inputs, fillers)
        for row, length in zip(rows, lengths, strict=True)
    ]
    return cast(Float32, np.stack(filled))


def fill_targets(rows: Sequence[StoredRow], lengths: Sequence[int], spec: ModelSpec, batch: ModelSpec) -> Float32:
    """Targets that are no classes, flattened as `batch` has them, [rows, numbers].

    Raises AgentError ``data.does_not_fit``.
    """
    filled = []
    for row, length in zip(rows, lengths, strict=True):
        target = at_length(spec, length).target
        width = math.prod(target.shape)
        if len(row.target) != width * FLOAT_BYTES:
            detail = f"targets have {len(row.target) // FLOAT_BYTES} numbers, the model's {width}"
            raise AgentError("data.does_not_fit", detail)
        filled.append(_filled(row.target, (target,), (batch.target,), [padding_value(target, spec)]))
    return cast(Float32, np.stack(filled))


def _length(numbers: int, spec: ModelSpec) -> int:
    found = length_of(spec, numbers)
    if found is None:
        raise AgentError(
            "data.does_not_fit", f"samples have {numbers} features, the model takes {accepted_sizes(spec)}"
        )
    return found


def _filled(numbers: bytes, here: Sequence[TensorSpec], there: Sequence[TensorSpec], fillers: Sequence[int]) -> Float32:
    """The tensors `here`, flattened one after the other, in the greater shapes that they have `there`."""
    flat = np.frombuffer(numbers, dtype=np.float32)
    if all(small.shape == large.shape for small, large in zip(here, there, strict=True)):
        return flat
    parts, start = [], 0
    for small, large, number in zip(here, there, fillers, strict=True):
        end = start + math.prod(small.shape)
        whole = np.full(large.shape, number, dtype=np.float32)
        whole[tuple(slice(size) for size in small.shape)] = flat[start:end].reshape(small.shape)
        parts.append(whole.reshape(-1))
        start = end
    return cast(Float32, np.concatenate(parts))
