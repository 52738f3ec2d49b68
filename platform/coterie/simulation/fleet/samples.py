"""The user's own samples: an NPZ file, a Parquet file, or a directory of such files."""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.errors import MalformedFile
from coterie.simulation.fleet.parquet import SUFFIX, read_parquet
from coterie.simulation.sample_arrays import read_npz, typed_in
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.tensors import Array

LABELS, INPUT, FILE = "y", "x", "file"
Column = NDArray[np.generic]


class FleetSamples(NamedTuple):
    """Samples with further columns."""

    data: Dataset
    columns: Mapping[str, Column]
    """One value a sample, e.g. its user; ``file`` numbers the files of a directory, from 0 in the order of names."""


def read_samples(path: Path, model: ModelSpec, *, beside: Collection[str] = ()) -> FleetSamples:
    """Read the samples at `path` for a classifier `model`, with the columns `beside` its inputs.

    A file has classes as ``y`` and inputs by their names, or the only one as ``x``. In a Parquet file an input is a
    column of lists; or all columns of numbers but ``y`` and those are the numbers of the only input, in their order.
    Raises MalformedFile or MissingPackage.
    """
    if not path.is_dir():
        return _samples(path, _read(path), model, beside)
    files = sorted(file for file in path.iterdir() if file.suffix in READERS)
    if not files:
        raise MalformedFile(path=str(path), detail=f"it has no file that ends with {' or '.join(READERS)}")
    parts = [_samples(file, _read(file), model, beside) for file in files]
    shared = set.intersection(*(set(part.columns) for part in parts))
    lengths = [len(part.data.labels) for part in parts]
    return FleetSamples(
        Dataset(
            {spec.name: np.concatenate([part.data.inputs[spec.name] for part in parts]) for spec in model.inputs},
            np.concatenate([part.data.classes for part in parts]),
        ),
        {
            **{name: np.concatenate([part.columns[name] for part in parts]) for name in sorted(shared)},
            FILE: np.repeat(np.arange(len(files)), lengths),
        },
    )


def _read(path: Path) -> Mapping[str, Column]:
    if path.suffix not in READERS:
        raise MalformedFile(path=str(path), detail=f"it is neither a directory nor a file of {' or '.join(READERS)}")
    return READERS[path.suffix](path)


READERS = {".npz": read_npz, SUFFIX: read_parquet}


def _samples(path: Path, arrays: Mapping[str, Column], model: ModelSpec, beside: Collection[str]) -> FleetSamples:
    labels = arrays.get(LABELS)
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "iu" or not len(labels):
        found = f"it has {', '.join(arrays)}" if labels is None else f"y is {labels.dtype} {list(labels.shape)}"
        detail = f"it has no column {LABELS} of whole numbers, one class a sample, from 0 on: {found}"
        raise MalformedFile(path=str(path), detail=detail)
    if labels.min() < 0 or labels.max() >= model.classes:
        found, last = f"from {labels.min()} to {labels.max()}", model.classes - 1
        raise MalformedFile(path=str(path), detail=f"its classes go {found}, those of the model from 0 to {last}")
    count = len(labels)
    if any(array.shape[:1] != (count,) for array in arrays.values()):
        raise MalformedFile(path=str(path), detail="its columns must all have one row a sample")
    inputs, used = {}, {LABELS}
    for spec in model.inputs:
        names = _names_of(spec, arrays, model, beside)
        numbers = arrays.get(names[0]) if len(names) == 1 else np.stack([arrays[name] for name in names], axis=1)
        inputs[spec.name] = _shaped(path, numbers, spec, count)
        used.update(names)
    rest = {name: array for name, array in arrays.items() if name not in used and array.ndim == 1}
    return FleetSamples(Dataset(inputs, labels.astype(np.int64)), rest)


def _names_of(
    spec: TensorSpec, arrays: Mapping[str, Column], model: ModelSpec, beside: Collection[str]
) -> Sequence[str]:
    if spec.name in arrays or len(model.inputs) > 1:
        return [spec.name]
    if INPUT in arrays:
        return [INPUT]
    return [
        name
        for name, array in arrays.items()
        if name != LABELS and name not in beside and array.ndim == 1 and array.dtype.kind in "iufb"
    ] or [INPUT]


def _shaped(path: Path, numbers: Column | None, spec: TensorSpec, count: int) -> Array:
    if numbers is None or numbers.dtype.kind not in "iufb" or not _is_laid_out(numbers.shape[1:], spec.shape):
        given = "missing" if numbers is None else f"{numbers.dtype} {list(numbers.shape[1:])}"
        raise MalformedFile(
            path=str(path), detail=f"the model takes {spec.name} {list(spec.shape)}, the samples are {given}"
        )
    if numbers.dtype.kind == "b" and spec.dtype == "float32":
        numbers = numbers.astype(np.float32)
    return typed_in(path, spec.name, numbers.reshape(count, *spec.shape), spec)


def _is_laid_out(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether a sample's shape matches `wanted`: the same except for axes of size 1, or flat."""
    one, other = ([size for size in shape if size != 1] for shape in (found, wanted))
    return one == other or (math.prod(found) == math.prod(wanted) and min(len(one), len(other)) == 1)
