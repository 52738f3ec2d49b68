"""Data sets as NumPy's .npz: checked from their headers, then read in pieces; nothing is unpickled or held whole."""

import math
import zipfile
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from coterie.registry.errors import BadDataset
from coterie_wire.archives import BROKEN

MAX_BYTES = 2 << 30
"""Of all arrays together, unpacked."""
PIECE_BYTES = 1 << 20
MAX_HEADER_BYTES = 10_000
MAX_CLASSES = 1_000_000


class DatasetFacts(NamedTuple):
    """What a data set holds."""

    rows: int
    feature_shape: tuple[int, ...]
    feature_dtype: str
    target_shape: tuple[int, ...]
    target_dtype: str
    classes: int
    """One more than the largest target where they are whole numbers, else 0."""


class _Array(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]


def inspect_dataset(path: Path, *, max_bytes: int = MAX_BYTES) -> DatasetFacts:
    """What the .npz at `path` holds, which unpacks to `max_bytes` at most. Raises BadDataset.

    Allocates a piece at a time, whatever the archive claims.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _inspect(archive, max_bytes)
    except BROKEN as error:
        raise BadDataset(problem=f"it cannot be read ({error})") from error


def _inspect(archive: zipfile.ZipFile, max_bytes: int) -> DatasetFacts:
    members = {member.filename: member for member in archive.infolist()}
    if sorted(members) != ["x.npy", "y.npy"] or len(archive.infolist()) != 2:
        raise BadDataset(problem=f"it holds {len(archive.infolist())} members, not just x.npy and y.npy")
    if any(member.flag_bits & 0x1 for member in members.values()):
        raise BadDataset(problem="it is encrypted")
    unpacked = sum(member.file_size for member in members.values())
    if unpacked > max_bytes:
        raise BadDataset(problem=f"it unpacks to {unpacked} bytes, at most {max_bytes} are taken")
    with archive.open(members["x.npy"]) as file:
        x = _header(file, "x", members["x.npy"].file_size)
        _check_finite(file, "x", x)
    with archive.open(members["y.npy"]) as file:
        y = _header(file, "y", members["y.npy"].file_size)
        if y.dtype == np.dtype("<i8"):
            classes = _largest_class(file) + 1
        else:
            classes = 0
            _check_finite(file, "y", y)
    if not x.shape or not y.shape or x.shape[0] != y.shape[0] or x.shape[0] == 0:
        raise BadDataset(problem=f"x has shape {list(x.shape)}, y has shape {list(y.shape)}")
    return DatasetFacts(x.shape[0], x.shape[1:], x.dtype.name, y.shape[1:], y.dtype.name, classes)


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


def _check_finite(file: IO[bytes], name: str, array: _Array) -> None:
    if array.dtype not in (np.dtype("<f4"), np.dtype("<i8")):
        raise BadDataset(problem=f"{name} is {array.dtype}")
    while piece := file.read(PIECE_BYTES):
        if array.dtype.kind == "f" and not np.isfinite(np.frombuffer(piece, array.dtype)).all():
            raise BadDataset(problem=f"{name} holds a number that is not finite")


def _largest_class(file: IO[bytes]) -> int:
    largest = 0
    while piece := file.read(PIECE_BYTES):
        targets = np.frombuffer(piece, "<i8")
        if targets.min() < 0 or targets.max() >= MAX_CLASSES:
            raise BadDataset(problem=f"y holds a class outside 0 to {MAX_CLASSES - 1}")
        largest = max(largest, int(targets.max()))
    return largest
