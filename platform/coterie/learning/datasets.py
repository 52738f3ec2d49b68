"""Data sets as NPZ files: arrays, never objects."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import CoterieError, ErrorKind
from coterie_wire.archives import Numbers, read_arrays
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.errors import WireError

Inputs = Mapping[str, NDArray[np.float32] | NDArray[np.int64]]

Targets = NDArray[np.int64] | NDArray[np.float32]
MAX_BYTES = 2 << 30
"""Of all arrays, unpacked."""


class MalformedDataset(CoterieError):
    """Fields: detail."""

    code = "dataset.malformed"
    kind = ErrorKind.INVALID
    sentence = (
        "The data set cannot be used: {detail}. It is an NPZ file with the targets as y (classes are whole numbers, "
        "the first is 0) and the samples as x, or by the name of each input where the model has several."
    )


class Dataset(NamedTuple):
    """Samples as a model takes them, and their labels."""

    inputs: Inputs
    """By the names of the model's inputs, each [n, *shape]."""
    labels: Targets
    """Targets [n, *target]: of a classifier its classes, int64 [n]."""

    @property
    def classes(self) -> NDArray[np.int64]:
        """The targets of a classifier, [n]."""
        return self.labels.astype(np.int64, copy=False)

    def take(self, rows: NDArray[np.int64] | slice) -> "Dataset":
        """The samples at `rows`."""
        return Dataset({name: array[rows] for name, array in self.inputs.items()}, self.labels[rows])

    def __repr__(self) -> str:
        return f"Dataset of {len(self.labels)} samples"


def read_dataset(path: Path, *, inputs: tuple[TensorSpec, ...], target: TensorSpec, choices: int) -> Dataset:
    """The samples in an NPZ file, checked against the shapes that a model takes.

    Whole numbers among the targets are below `choices`: classes, or a vocabulary.

    Raises MalformedDataset.
    """
    try:
        arrays = read_arrays(path, max_bytes=MAX_BYTES)
    except WireError as error:
        raise MalformedDataset(detail=error.detail) from error
    labels = arrays.get("y")
    if labels is None or labels.ndim < 1 or not len(labels):
        raise MalformedDataset(detail="y is missing or empty")
    targets = _samples(arrays, "y", target, len(labels))
    if target.dtype == "int64" and (targets.min(initial=0) < 0 or targets.max(initial=0) >= choices):
        found = f"from {targets.min()} to {targets.max()}"
        raise MalformedDataset(detail=f"its targets go {found}, the model tells {choices} apart")
    only = len(inputs) == 1 and inputs[0].name not in arrays
    samples = {spec.name: _samples(arrays, "x" if only else spec.name, spec, len(labels)) for spec in inputs}
    return Dataset(samples, targets)


def read_model_dataset(path: Path, model: ModelSpec) -> Dataset:
    """`read_dataset` for a device model."""
    return read_dataset(path, inputs=model.inputs, target=model.target, choices=model.output.shape[-1])


def _samples(
    arrays: Mapping[str, Numbers], name: str, spec: TensorSpec, count: int
) -> NDArray[np.float32] | NDArray[np.int64]:
    array = arrays.get(name)
    if array is None:
        raise MalformedDataset(detail=f"{name} is missing")
    if array.shape != (count, *spec.shape):
        raise MalformedDataset(detail=f"{name} is {list(array.shape)}, expected {[count, *spec.shape]}")
    wanted: tuple[type[np.generic], ...] = (np.integer,) if spec.dtype == "int64" else (np.floating, np.integer)
    if not any(np.issubdtype(array.dtype, kind) for kind in wanted):
        raise MalformedDataset(detail=f"{name} holds {array.dtype}, expected {spec.dtype}")
    if spec.dtype == "int64":
        return array.astype(np.int64)
    values = array.astype(np.float32)
    if not np.isfinite(values).all():
        raise MalformedDataset(detail=f"{name} holds numbers that are not finite")
    return values
