"""Data sets as NumPy's .npz: checked from their headers, then read in pieces; nothing is unpickled or held whole."""

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from coterie.registry.errors import BadDataset
from coterie_wire.archives import BROKEN
from coterie_wire.bundle import MAX_NAME, Dtype, TensorSpec

MAX_BYTES = 2 << 30
"""Of all arrays together, unpacked."""
MAX_RATIO = 100
"""How many times its size an archive may unpack to: images and tables pack ten times, zeros a thousand."""
UNPACKED_AT_ANY_RATIO = 64 << 20
"""Bytes that are always accepted, whatever their compression ratio."""
PIECE_BYTES = 1 << 20
MAX_HEADER_BYTES = 10_000
MAX_CLASSES = 1_000_000
MAX_INPUTS = 100
DTYPES: Mapping[np.dtype[np.generic], Dtype] = {
    np.dtype("<f4"): "float32",
    np.dtype("<i8"): "int64",
    np.dtype("<i4"): "int32",
    np.dtype("|u1"): "uint8",
    np.dtype("|b1"): "bool",
}
"""Of inputs."""


class DatasetFacts(NamedTuple):
    """What a data set holds."""

    rows: int
    inputs: tuple[TensorSpec, ...]
    """Of one sample, by name."""
    target_shape: tuple[int, ...]
    target_dtype: str
    classes: int
    """One more than the largest target where they are whole numbers, else 0."""


class _Array(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    def of_a_sample(self, name: str) -> TensorSpec:
        return TensorSpec(name, DTYPES[self.dtype], self.shape[1:])


def inspect_dataset(path: Path, *, max_bytes: int = MAX_BYTES) -> DatasetFacts:
    """What the .npz at `path` holds, which unpacks to `max_bytes` at most. Raises BadDataset.

    Allocates a piece at a time, whatever the archive claims.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _inspect(archive, max_bytes, path.stat().st_size)
    except BROKEN as error:
        raise BadDataset(problem=f"it cannot be read ({error})") from error


def _inspect(archive: zipfile.ZipFile, max_bytes: int, packed_bytes: int) -> DatasetFacts:
    members = {member.filename: member for member in archive.infolist()}
    if len(members) != len(archive.infolist()) or "y.npy" not in members or not 2 <= len(members) <= MAX_INPUTS + 1:
        raise BadDataset(problem=f"it holds {', '.join(sorted(members))[:200] or 'nothing'}, not y.npy and inputs")
    names = sorted(member.removesuffix(".npy") for member in members if member != "y.npy")
    if any(f"{name}.npy" not in members or not name.isidentifier() or len(name) > MAX_NAME for name in names):
        raise BadDataset(problem="a member is not called after an input, with .npy behind it")
    if any(member.flag_bits & 0x1 for member in members.values()):
        raise BadDataset(problem="it is encrypted")
    unpacked = sum(member.file_size for member in members.values())
    if unpacked > max_bytes:
        raise BadDataset(problem=f"it unpacks to {unpacked} bytes, at most {max_bytes} are taken")
    if unpacked > max(MAX_RATIO * packed_bytes, UNPACKED_AT_ANY_RATIO):
        problem = f"it unpacks to {unpacked // packed_bytes} times its size; write it with numpy.savez, uncompressed"
        raise BadDataset(problem=problem)
    inputs: dict[str, _Array] = {}
    for name in names:
        member = members[f"{name}.npy"]
        with archive.open(member) as file:
            inputs[name] = _header(file, name, member.file_size)
            _check_numbers(file, name, inputs[name])
    with archive.open(members["y.npy"]) as file:
        y = _header(file, "y", members["y.npy"].file_size)
        if y.dtype == np.dtype("<i8"):
            classes = _largest_class(file) + 1
        else:
            classes = 0
            if y.dtype != np.dtype("<f4"):
                raise BadDataset(problem=f"y is {y.dtype}")
            _check_numbers(file, "y", y)
    for name, array in inputs.items():
        if not array.shape or not y.shape or array.shape[0] != y.shape[0] or array.shape[0] == 0:
            raise BadDataset(problem=f"{name} has shape {list(array.shape)}, y has shape {list(y.shape)}")
    specs = tuple(array.of_a_sample(name) for name, array in inputs.items())
    return DatasetFacts(y.shape[0], specs, y.shape[1:], y.dtype.name, classes)


def _header(file: IO[bytes], name: str, member_bytes: int) -> _Array:
    major, _ = npy.read_magic(file)
    read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
    shape, fortran_order, dtype = read(file, max_header_size=MAX_HEADER_BYTES)
    if fortran_order and len(shape) > 1:
        raise BadDataset(problem=f"{name} is in Fortran order")
    if dtype.hasobject:
        raise BadDataset(problem=f"{name} holds Python objects")
    if file.tell() + math.prod(shape) * dtype.itemsize != member_bytes:
        raise BadDataset(problem=f"{name} says it is {dtype} of shape {list(shape)}, which does not fit its size")
    return _Array(tuple(shape), dtype)


def _check_numbers(file: IO[bytes], name: str, array: _Array) -> None:
    if array.dtype not in DTYPES:
        raise BadDataset(problem=f"{name} is {array.dtype}")
    while piece := file.read(PIECE_BYTES):
        if array.dtype.kind == "f" and not np.isfinite(np.frombuffer(piece, array.dtype)).all():
            raise BadDataset(problem=f"{name} holds a number that is not finite")
        if array.dtype.kind == "b" and max(piece) > 1:
            raise BadDataset(problem=f"{name} holds a truth value that is neither 0 nor 1")


def _largest_class(file: IO[bytes]) -> int:
    largest = 0
    while piece := file.read(PIECE_BYTES):
        targets = np.frombuffer(piece, "<i8")
        if targets.min() < 0 or targets.max() >= MAX_CLASSES:
            raise BadDataset(problem=f"y holds a class outside 0 to {MAX_CLASSES - 1}")
        largest = max(largest, int(targets.max()))
    return largest
