"""Data sets as NPZ files: arrays, never objects."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import CoterieError, ErrorKind
from coterie_wire.archives import Numbers, read_arrays
from coterie_wire.bundle import ModelSpec, Task, TensorSpec
from coterie_wire.contract import at_sample_length
from coterie_wire.errors import WireError
from coterie_wire.length import Length
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
    """Samples as a model takes them, and their labels; where samples differ in length, filled up to the same."""

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


def read_dataset(
    path: Path,
    *,
    inputs: tuple[TensorSpec, ...],
    target: TensorSpec,
    choices: int | None,
    length: Length | None = None,
) -> Dataset:
    """The samples in an NPZ file, checked against the shapes that a model takes.

    Targets that are classes, or tokens, are below `choices`; where they are neither, it is None. Where samples differ
    in `length`, those of a file are filled up to one that the model takes.

    Raises MalformedDataset.
    """
    try:
        arrays = read_arrays(path, max_bytes=MAX_BYTES)
    except WireError as error:
        raise MalformedDataset(detail=error.detail) from error
    labels = arrays.get("y")
    if labels is None or labels.ndim < 1 or not len(labels):
        raise MalformedDataset(detail="y is missing or empty")
    only = len(inputs) == 1 and inputs[0].name not in arrays
    called = {target.name: "y", **{spec.name: "x" if only else spec.name for spec in inputs}}
    if length is not None:
        inputs, target = _at_length(arrays, called, inputs, target, length)
    targets = cast(Targets, _samples(arrays, "y", target, len(labels)))
    if choices is not None and (targets.min(initial=0) < 0 or targets.max(initial=0) >= choices):
        found = f"from {targets.min()} to {targets.max()}"
        raise MalformedDataset(detail=f"its targets go {found}, the model tells {choices} apart")
    samples = {spec.name: _samples(arrays, called[spec.name], spec, len(labels)) for spec in inputs}
    return Dataset(samples, targets)


def read_model_dataset(path: Path, model: ModelSpec) -> Dataset:
    """`read_dataset` for a device model."""
    return read_dataset(
        path,
        inputs=model.inputs,
        target=model.target,
        choices=choices(model.task, model.output),
        length=model.length or None,
    )


def choices(task: Task, output: TensorSpec) -> int | None:
    """How many classes or tokens there are to choose from; None where targets are numbers of another kind."""
    return output.shape[-1] if task in ("classes", "tokens") else None


def _at_length(
    arrays: Mapping[str, Numbers],
    called: Mapping[str, str],
    inputs: tuple[TensorSpec, ...],
    target: TensorSpec,
    length: Length,
) -> tuple[tuple[TensorSpec, ...], TensorSpec]:
    """What is taken at the length that the arrays have."""
    found = length.found_in({name: arrays[here].shape[1:] for name, here in called.items() if here in arrays})
    if found is None:
        detail = f"its samples are not all of one length between {length.shortest} and {length.longest}"
        raise MalformedDataset(detail=detail)
    return tuple(at_sample_length(spec, length, found) for spec in inputs), at_sample_length(target, length, found)


def _samples(arrays: Mapping[str, Numbers], name: str, spec: TensorSpec, count: int) -> Array:
    array = arrays.get(name)
    if array is None:
        raise MalformedDataset(detail=f"{name} is missing")
    if array.shape != (count, *spec.shape):
        raise MalformedDataset(detail=f"{name} is {list(array.shape)}, expected {[count, *spec.shape]}")
    return typed(name, array, spec)


def typed(name: str, array: Numbers, spec: TensorSpec) -> Array:
    """The samples `array`, which messages call `name`, in the dtype of `spec`. Raises MalformedDataset."""
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
