"""Tensor files that are read and written in parts, so that memory does not grow with the file.

Files are read by position and never mapped into memory: a damaged disk then raises an error that names the file, where
with a mapping it would end the process.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import (
    NUMPY_DTYPES,
    Array,
    Header,
    PlannedFile,
    file_bytes,
    head_bytes,
    planned_file,
    read_header,
)


class Source(Protocol):
    """Bytes at positions."""

    @property
    def size_bytes(self) -> int:
        """Number of bytes."""

    def read(self, start: int, stop: int) -> bytes | memoryview:
        """The bytes [start, stop); fewer only where the source ends before `stop`. Raises OSError."""

    def part(self, begin: int, end: int) -> "Source":
        """The bytes [begin, end) as a source of their own."""


class InMemory(NamedTuple):
    """A payload in memory."""

    data: bytes | memoryview

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    def read(self, start: int, stop: int) -> memoryview:
        return memoryview(self.data)[start:stop]

    def part(self, begin: int, end: int) -> "InMemory":
        return InMemory(memoryview(self.data)[begin:end])


class OpenFile(NamedTuple):
    """A part of an open file: `size_bytes` bytes from position `begin`."""

    descriptor: int
    size_bytes: int
    begin: int = 0

    def read(self, start: int, stop: int) -> bytes:
        return os.pread(self.descriptor, stop - start, self.begin + start)

    def part(self, begin: int, end: int) -> "OpenFile":
        return OpenFile(self.descriptor, end - begin, self.begin + begin)


SMALL_BYTES = 1 << 16
"""Files up to this size are read at once, which is faster than many small reads. For larger files it is slower, because
memory is allocated anew for each file."""


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """The file at `path`, for reading. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        file = OpenFile(descriptor, os.fstat(descriptor).st_size)
        yield file if file.size_bytes > SMALL_BYTES else InMemory(file.read(0, file.size_bytes))
    finally:
        os.close(descriptor)


@contextmanager
def create_file(path: Path) -> Iterator[int]:
    """A descriptor of an empty file at `path`, for writing. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class TensorFile(NamedTuple):
    """A tensor file whose header has been checked; its elements are read on demand."""

    source: Source
    header: Header

    def read(self, name: str, start: int, stop: int) -> Array:
        """Elements [start, stop) of the flattened tensor `name`, read-only.

        Raises OSError, or WireError ``tensors.malformed`` where the file has become shorter.
        """
        dtype = np.dtype(NUMPY_DTYPES[self.header.specs[name].dtype])
        begin = self.header.offsets[name]
        data = self.source.read(begin + start * dtype.itemsize, begin + stop * dtype.itemsize)
        if len(data) != (stop - start) * dtype.itemsize:
            raise WireError("tensors.malformed", f"tensor {name} ends early: the file has become shorter")
        return np.frombuffer(data, dtype)


def open_tensors(source: Source) -> TensorFile:
    """The tensor file in `source`, its header checked. Raises OSError or WireError ``tensors.malformed``."""
    return TensorFile(source, _header(_head(source), source.size_bytes))


def leading_tensor_file(source: Source) -> Source:
    """The tensor file that `source` begins with. Raises OSError or WireError ``tensors.malformed``."""
    return source.part(0, file_bytes(_head(source), size_bytes=source.size_bytes))


def _head(source: Source) -> bytes:
    return bytes(source.read(0, head_bytes(source.read(0, 8), size_bytes=source.size_bytes)))


@lru_cache(maxsize=8)
def _header(head: bytes, size_bytes: int) -> Header:
    """Cached, because the updates of one round have the same header."""
    return read_header(head, size_bytes=size_bytes)


class TensorWriter:
    """Writes a tensor file, whose parts may come in any order; every element must be written once."""

    def __init__(self, descriptor: int, specs: Sequence[TensorSpec], metadata: Mapping[str, str] = {}) -> None:
        self._descriptor, self._specs = descriptor, {spec.name: spec for spec in specs}
        self._plan: PlannedFile = planned_file(specs, metadata)
        os.ftruncate(descriptor, 0)
        _write(descriptor, self._plan.head, 0)
        os.ftruncate(descriptor, self._plan.size_bytes)

    def write(self, name: str, start: int, numbers: Array) -> None:
        """Write elements [start, start + numbers.size) of the flattened tensor `name`. Raises OSError."""
        spec = self._specs[name]
        dtype = np.dtype(NUMPY_DTYPES[spec.dtype])
        assert numbers.dtype == dtype and start + numbers.size <= math.prod(spec.shape)
        content = np.ascontiguousarray(numbers).reshape(-1).view(np.uint8).data
        _write(self._descriptor, content, self._plan.offsets[name] + start * dtype.itemsize)

    def finish(self) -> None:
        """Flush the file to the disk. Raises OSError."""
        os.fsync(self._descriptor)


def _write(descriptor: int, content: bytes | memoryview, offset: int) -> None:
    view = memoryview(content)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written
