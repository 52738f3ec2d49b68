"""Vectors of integers modulo powers of two, which are masked, sent, and summed.

Most numbers have `bits` bits, as set by the plan; the few of the *tail*, which need more range, have 64. A vector is
sent as a tensor file whose metadata identifies the list of members that it was masked for.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from coterie_learning.secure_sum.masks import UInt, add_mask
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import Source, TensorFile, open_tensors
from coterie_wire.tensors import check_specs, encode_tensors, planned_file

UInt64 = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
NUMBERS, TAIL = "numbers", "tail"
WORD_BYTES = 8
WHOLE_BYTES = {8: "<u1", 16: "<u2", 32: "<u4"}
"""Types of numbers that are not packed."""


class Layout(NamedTuple):
    """The layout of all vectors of a sum."""

    length: int
    """Count of numbers without the tail; even."""
    bits: int
    """Bits of a number: 8 to 32, a multiple of 4."""
    tail: int
    """Count of numbers in the tail."""

    def specs(self) -> tuple[TensorSpec, ...]:
        """The tensors of a vector's file."""
        return (
            TensorSpec(NUMBERS, "uint8", (packed_bytes(self.length, self.bits),)),
            TensorSpec(TAIL, "uint8", (WORD_BYTES * self.tail,)),
        )

    def file_bytes(self, digest: bytes) -> int:
        """Size of the file of a vector that was masked for the list of members with `digest`."""
        return planned_file(self.specs(), _metadata(self.bits, digest)).size_bytes


class Vector(NamedTuple):
    """One device's vector, or the sum of some."""

    bits: int
    numbers: UInt
    """[length], uint16 or uint32, of which the low `bits` count."""
    tail: UInt64
    """[tail]."""


def word(bits: int) -> type[np.uint16] | type[np.uint32]:
    """The type in which numbers of so many bits are added."""
    return np.uint16 if bits <= 16 else np.uint32


def masked(vector: Vector, *, own: bytes, added: Iterable[bytes], subtracted: Iterable[bytes]) -> Vector:
    """`vector` plus the masks of the seeds `own` and `added`, minus those of the seeds `subtracted`."""
    found = Vector(vector.bits, vector.numbers.copy(), vector.tail.copy())
    for name, numbers in ((NUMBERS, found.numbers), (TAIL, found.tail)):
        for seed in (own, *added):
            add_mask(numbers, seed, name)
        for seed in subtracted:
            add_mask(numbers, seed, name, subtract=True)
    return found


def encode_vector(vector: Vector, digest: bytes) -> bytes:
    """The file of a vector that was masked for the list of members with `digest`."""
    tensors = {NUMBERS: pack(vector.numbers, vector.bits), TAIL: vector.tail.astype("<u8").view(np.uint8)}
    return encode_tensors(tensors, _metadata(vector.bits, digest))


class VectorFile:
    """A vector that is read a span at a time."""

    def __init__(self, stored: TensorFile, layout: Layout) -> None:
        self._stored, self._layout = stored, layout

    def numbers(self, start: int, stop: int) -> UInt:
        """Numbers [start, stop); both are even."""
        bits = self._layout.bits
        read = self._stored.read(NUMBERS, packed_bytes(start, bits), packed_bytes(stop, bits))
        return unpack(cast(Bytes, read), bits)

    def tail(self) -> UInt64:
        """[tail]."""
        stored = cast(Bytes, self._stored.read(TAIL, 0, WORD_BYTES * self._layout.tail))
        return np.frombuffer(stored.tobytes(), "<u8").astype(np.uint64)


def open_vector(source: Source, layout: Layout, digest: bytes) -> VectorFile:
    """Open the vector in `source`, which must have this layout and be masked for this list.

    Raises OSError, or WireError ``update.malformed``, ``update.wrong_shape`` or ``update.wrong_list``.
    """
    try:
        stored = open_tensors(source)
    except WireError as error:
        raise WireError("update.malformed", error.detail) from error
    if stored.header.metadata != _metadata(layout.bits, digest):
        raise WireError("update.wrong_list", "the vector was masked for another list of members, or other numbers")
    try:
        check_specs(stored.header, layout.specs())
    except WireError as error:
        raise WireError("update.wrong_shape", error.detail) from error
    return VectorFile(stored, layout)


def packed_bytes(length: int, bits: int) -> int:
    """Packed size of an even number of numbers."""
    return length // 2 * bits // 4


def pack(numbers: UInt, bits: int) -> Bytes:
    """The low `bits` of each, two after the other in `bits` / 4 bytes, the lowest first."""
    if bits in WHOLE_BYTES:
        whole: Bytes = numbers.astype(WHOLE_BYTES[bits]).view(np.uint8)
        return whole
    low = np.uint64((1 << bits) - 1)
    wide = numbers.astype(np.uint64).reshape(-1, 2) & low
    pairs = wide[:, 0] | (wide[:, 1] << np.uint64(bits))
    packed: Bytes = pairs.astype("<u8").view(np.uint8).reshape(-1, WORD_BYTES)[:, : bits // 4].reshape(-1)
    return packed


def unpack(packed: Bytes, bits: int) -> UInt:
    """The inverse of `pack`."""
    if bits in WHOLE_BYTES:
        whole: UInt = np.ascontiguousarray(packed).view(WHOLE_BYTES[bits]).astype(word(bits))
        return whole
    padded = np.zeros((len(packed) * 4 // bits, WORD_BYTES), np.uint8)
    padded[:, : bits // 4] = packed.reshape(-1, bits // 4)
    pairs = padded.view("<u8").reshape(-1)
    low = np.uint64((1 << bits) - 1)
    found: UInt = np.stack([pairs & low, pairs >> np.uint64(bits)], axis=1).reshape(-1).astype(word(bits))
    return found


def _metadata(bits: int, digest: bytes) -> dict[str, str]:
    return {"bits": str(bits), "list": digest.hex()}


def added(vectors: Sequence[Vector]) -> Vector:
    """The sum of unmasked vectors; equal to the sum of masked ones after unmasking."""
    numbers, tail = vectors[0].numbers.copy(), vectors[0].tail.copy()
    for vector in vectors[1:]:
        numbers += vector.numbers
        tail += vector.tail
    low = numbers.dtype.type((1 << vectors[0].bits) - 1)
    return Vector(vectors[0].bits, numbers & low, tail)
