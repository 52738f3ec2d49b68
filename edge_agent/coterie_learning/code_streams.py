"""Codes that are mostly zero, deflated: their signs five to a byte, and the magnitudes of those that are not zero.

3LC (Lim et al. 2019, arXiv 1802.07389, §3.2) packs signs as digits of base 3 and codes runs; here zlib does that, with
matches of runs alone (`Z_RLE`), which takes a fraction of the time of other matches and finds the parts of a network
that have learned nothing. The codes of all tensors follow one another, in the order of the tensors' names, and are
deflated in chunks, so that a span is read in the memory of a chunk.
"""

import math
import zlib
from collections.abc import Mapping
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from coterie_learning.flat import flat, flat_starts, layout_name, parameters_of, specs_of
from coterie_learning.levels import MOST, Codes, LevelsPayload
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import TensorFile
from coterie_wire.tensors import Array

CHUNK = 5 << 14
"""Codes that are deflated together."""
SIZES = "sizes"
"""int32 [chunks, 2]: the bytes of each chunk's signs, and of its magnitudes."""
DIGITS = 5
"""Signs in a byte."""
POWERS = np.array([81, 27, 9, 3, 1], np.uint8)
_SIGNS = np.array([[byte // int(power) % 3 - 1 for power in POWERS] for byte in range(3**DIGITS)], np.int8)
"""The signs that a byte stands for."""
STORED_BYTES = 5
"""What zlib adds to each 16 KiB that it cannot make smaller."""
OVERHEAD_BYTES = 24
"""What it adds to a stream besides, at most."""


def deflated(codes: Mapping[str, Codes]) -> Mapping[str, Array]:
    """The tensors of a payload that hold the `codes` of all its tensors."""
    vector = flat(codes, np.int8)
    streams = [_deflated(vector[start : start + CHUNK]) for start in range(0, vector.size, CHUNK)]
    sizes = np.array([[len(stream) for stream in pair] for pair in streams], np.int32).reshape(-1, 2)
    joined = np.frombuffer(b"".join(stream for pair in streams for stream in pair), np.uint8)
    return {SIZES: sizes, layout_name("codes", specs_of(codes)): joined}


def stream_specs(expected: tuple[TensorSpec, ...], stated: Mapping[str, TensorSpec]) -> tuple[TensorSpec, ...]:
    """The tensors that hold the codes of tensors of the specs `expected`; `stated` says how long the streams are."""
    name, chunks = layout_name("codes", expected), math.ceil(parameters_of(expected) / CHUNK)
    length = math.prod(stated[name].shape) if name in stated else 0
    return (TensorSpec(SIZES, "int32", (chunks, 2)), TensorSpec(name, "uint8", (length,)))


def least_bytes(parameters: int) -> int:
    """The streams of so many codes take no less: a stream of nothing takes two bytes."""
    return 4 * math.ceil(parameters / CHUNK)


def most_bytes(parameters: int, nonzero: int) -> int:
    """The streams of so many codes take no more if at most `nonzero` of them are not zero."""
    chunks, raw = math.ceil(parameters / CHUNK), math.ceil(parameters / DIGITS) + nonzero
    return raw + STORED_BYTES * (raw >> 14) + 2 * chunks * OVERHEAD_BYTES


class StreamPayload(LevelsPayload):
    """A payload of `deflated` codes, and of one scale for each tensor."""

    def __init__(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> None:
        """Reads the scales and the sizes.

        Raises OSError, or WireError ``tensors.malformed``, ``update.malformed`` or ``update.not_finite``.
        """
        super().__init__(stored, expected, MOST, "tensor")
        self._name = layout_name("codes", expected)
        (length,) = stored.header.specs[self._name].shape
        sizes = stored.read(SIZES, 0, math.prod(stored.header.specs[SIZES].shape)).tolist()
        self._ends = list(accumulate(sizes, initial=0))
        if min(sizes, default=0) < 0 or self._ends[-1] != length:
            raise _malformed(f"its streams should fill {length} bytes, their sizes sum to {sum(sizes)}")
        self._count = parameters_of(expected)
        self._starts = flat_starts(expected)
        self._kept: tuple[int, Codes] = (-1, np.empty(0, np.int8))

    def codes(self, name: str, start: int, stop: int) -> Codes:
        first, last = self._starts[name] + start, self._starts[name] + stop
        found = np.empty(stop - start, np.int8)
        for chunk in range(first // CHUNK, math.ceil(last / CHUNK)):
            begin = chunk * CHUNK
            low, high = max(first, begin), min(last, begin + CHUNK)
            found[low - first : high - first] = self._chunk(chunk)[low - begin : high - begin]
        return found

    def largest_code(self, codes: Codes) -> int:
        """Most are far from the end of the scale, so that only looking tells."""
        return max(int(codes.max()), -int(codes.min()))

    def _chunk(self, chunk: int) -> Codes:
        """The last one is kept: spans are read one after the other."""
        if self._kept[0] != chunk:
            count = min(CHUNK, self._count - chunk * CHUNK)
            begin, middle, end = self._ends[2 * chunk : 2 * chunk + 3]
            signs, magnitudes = (
                self._stored.read(self._name, *span).tobytes() for span in ((begin, middle), (middle, end))
            )
            self._kept = (chunk, _inflated(signs, magnitudes, count))
        return self._kept[1]


def _deflated(codes: Codes) -> tuple[bytes, bytes]:
    """The two streams of a chunk."""
    digits = np.ones(math.ceil(codes.size / DIGITS) * DIGITS, np.uint8)
    digits[: codes.size] += np.sign(codes).view(np.uint8)  # -1 is 255, which comes to 0
    packed = np.zeros(digits.size // DIGITS, np.uint8)
    for place, power in enumerate(POWERS):
        packed += digits[place::DIGITS] * power
    magnitudes = np.abs(codes[codes != 0]) - np.int8(1)
    return _deflate(packed), _deflate(magnitudes.view(np.uint8))


def _inflated(signs: bytes, magnitudes: bytes, count: int) -> Codes:
    """`count` codes from the two streams of a chunk. Raises WireError ``update.malformed``."""
    packed = np.frombuffer(_inflate(signs, math.ceil(count / DIGITS)), np.uint8)
    if packed.max(initial=0) >= 3**DIGITS:
        raise _malformed(f"five signs are a number below {3**DIGITS}")
    digits = _SIGNS[packed].reshape(-1)
    codes, filling = digits[:count], digits[count:]
    if filling.any():
        raise _malformed("signs follow after the last parameter")
    places = np.flatnonzero(codes)
    found = np.frombuffer(_inflate(magnitudes, places.size), np.uint8)
    if found.max(initial=0) >= MOST:
        raise _malformed(f"a magnitude is above {MOST}")
    codes[places] *= (found + np.uint8(1)).view(np.int8)
    return codes


def _deflate(data: NDArray[np.uint8]) -> bytes:
    stream = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return stream.compress(data.tobytes()) + stream.flush()


def _inflate(stream: bytes, count: int) -> bytes:
    """Exactly `count` bytes; no more are allocated. Raises WireError ``update.malformed``."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        # One byte more, because a stream that ends in time says so only when it is asked for what follows.
        found = inflater.decompress(stream, count + 1)
    except zlib.error as error:
        raise _malformed(str(error)) from error
    if len(found) != count or not inflater.eof or inflater.unused_data:
        raise _malformed(f"a stream does not hold {count} bytes and nothing else")
    return found


def _malformed(detail: str) -> WireError:
    return WireError("update.malformed", f"deflated codes: {detail}")
