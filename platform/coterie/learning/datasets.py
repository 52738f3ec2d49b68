"""Data sets as NPZ files: arrays, never objects."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import CoterieError, ErrorKind
from coterie_wire.archives import Numbers, read_arrays
from coterie_wire.bundle import ModelSpec, Task, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Array

Inputs = Mapping[str, Array]

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


def read_dataset(path: Path, *, inputs: tuple[TensorSpec, ...], target: TensorSpec, choices: int | None) -> Dataset:
    """The samples in an NPZ file, checked against the shapes that a model takes.

    Targets that are classes, or words, are below `choices`; where they are neither, it is None.

    Raises MalformedDataset.
    """
    try:
        arrays = read_arrays(path, max_bytes=MAX_BYTES)
    except WireError as error:
        raise MalformedDataset(detail=error.detail) from error
    labels = arrays.get("y")
    if labels is None or labels.ndim < 1 or not len(labels):
        raise MalformedDataset(detail="y is missing or empty")
    targets = cast(Targets, _samples(arrays, "y", target, len(labels)))
    if choices is not None and (targets.min(initial=0) < 0 or targets.max(initial=0) >= choices):
        found = f"from {targets.min()} to {targets.max()}"
        raise MalformedDataset(detail=f"its targets go {found}, the model tells {choices} apart")
    only = len(inputs) == 1 and inputs[0].name not in arrays
    samples = {spec.name: _samples(arrays, "x" if only else spec.name, spec, len(labels)) for spec in inputs}
    return Dataset(samples, targets)


def read_model_dataset(path: Path, model: ModelSpec) -> Dataset:
    """`read_dataset` for a device model."""
    return read_dataset(path, inputs=model.inputs, target=model.target, choices=choices(model.task, model.output))


def choices(task: Task, output: TensorSpec) -> int | None:
    """How many classes or words there are to choose from; None where targets are numbers of another kind."""
    return output.shape[-1] if task in ("classes", "tokens") else None


def _samples(arrays: Mapping[str, Numbers], name: str, spec: TensorSpec, count: int) -> Array:
    array = arrays.get(name)
    if array is None:
        raise MalformedDataset(detail=f"{name} is missing")
    if array.shape != (count, *spec.shape):
        raise MalformedDataset(detail=f"{name} is {list(array.shape)}, expected {[count, *spec.shape]}")
    wanted: type[np.generic] = {"float32": np.number, "bool": np.bool_}.get(spec.dtype, np.integer)
    if not np.issubdtype(array.dtype, wanted):
        raise MalformedDataset(detail=f"{name} holds {array.dtype}, expected {spec.dtype}")
    if np.issubdtype(array.dtype, np.integer) and spec.dtype != "float32":
        limits = np.iinfo(spec.dtype)
        if array.min(initial=0) < limits.min or array.max(initial=0) > limits.max:
            raise MalformedDataset(detail=f"{name} holds numbers that {spec.dtype} does not")
    values: Array = array.astype(spec.dtype)
    if not np.isfinite(values).all():
        raise MalformedDataset(detail=f"{name} holds numbers that are not finite")
    return values
