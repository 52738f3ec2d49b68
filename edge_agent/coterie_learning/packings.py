"""How a chunk of codes is packed into bytes before deflating.

zlib uses run-length matches only (`Z_RLE`), which take a fraction of the time of other matches and compress parameters
that did not change.
"""

import math
import zlib
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie_learning.levels import MOST, Codes
from coterie_wire.errors import WireError

DIGITS = 5
"""Number of signs in a byte."""
POWERS = np.array([81, 27, 9, 3, 1], np.uint8)
_SIGNS = np.array([[byte // int(power) % 3 - 1 for power in POWERS] for byte in range(3**DIGITS)], np.int8)
"""The signs that a byte stands for."""
STORED_BYTES = 5
"""Bytes that zlib adds to each incompressible 16 KiB."""
OVERHEAD_BYTES = 24
"""Most bytes that it also adds to a stream."""
EMPTY_BYTES = 2
"""Size of an empty stream."""


class Packing:
    """Codes of a chunk as streams of bytes, each deflated separately."""

    streams: ClassVar[int]
    """Number of streams of a chunk."""

    def pack(self, codes: Codes) -> Sequence[bytes]:
        """The deflated streams."""
        raise NotImplementedError

    def unpack(self, streams: Sequence[bytes], count: int) -> Codes:
        """`count` codes; allocates no more than these need. Raises WireError ``update.malformed``."""
        raise NotImplementedError

    def raw_bytes(self, count: int, nonzero: int) -> int:
        """Size before deflating of `count` codes, at most `nonzero` of which are not zero."""
        raise NotImplementedError

    def most_bytes(self, count: int, nonzero: int, chunks: int) -> int:
        """Upper bound of the deflated size: zlib stores what it cannot compress."""
        raw = self.raw_bytes(count, nonzero)
        return raw + STORED_BYTES * (raw >> 14) + self.streams * chunks * OVERHEAD_BYTES

    def least_bytes(self, chunks: int) -> int:
        """Lower bound of the deflated size."""
        return self.streams * EMPTY_BYTES * chunks


class SignsAndMagnitudes(Packing):
    """For codes that are mostly zero: the signs, five to a byte, and the magnitudes of nonzero codes.

    3LC (Lim et al. 2019, arXiv 1802.07389, §3.2) packs signs as digits of base 3.
    """

    streams: ClassVar[int] = 2

    def pack(self, codes: Codes) -> Sequence[bytes]:
        digits = np.ones(math.ceil(codes.size / DIGITS) * DIGITS, np.uint8)
        digits[: codes.size] += np.sign(codes).view(np.uint8)  # -1 is 255, which comes to 0
        packed = np.zeros(digits.size // DIGITS, np.uint8)
        for place, power in enumerate(POWERS):
            packed += digits[place::DIGITS] * power
        magnitudes = np.abs(codes[codes != 0]) - np.int8(1)
        return deflate(packed), deflate(magnitudes.view(np.uint8))

    def unpack(self, streams: Sequence[bytes], count: int) -> Codes:
        signs, magnitudes = streams
        packed = inflate(signs, math.ceil(count / DIGITS))
        if packed.max(initial=0) >= 3**DIGITS:
            raise malformed(f"five signs are a number below {3**DIGITS}")
        digits = _SIGNS[packed].reshape(-1)
        codes, filling = digits[:count], digits[count:]
        if filling.any():
            raise malformed("signs follow after the last parameter")
        places = np.flatnonzero(codes)
        found = inflate(magnitudes, places.size)
        if found.max(initial=0) >= MOST:
            raise malformed(f"a magnitude is above {MOST}")
        codes[places] *= (found + np.uint8(1)).view(np.int8)
        return codes

    def raw_bytes(self, count: int, nonzero: int) -> int:
        return math.ceil(count / DIGITS) + nonzero


class Pairs(Packing):
    """For codes in [-7, 7]: two in a byte as two's complement, the earlier in the lower half."""

    streams: ClassVar[int] = 1

    def pack(self, codes: Codes) -> Sequence[bytes]:
        halves = np.zeros(codes.size + codes.size % 2, np.uint8)
        halves[: codes.size] = codes.view(np.uint8) & 0x0F
        pairs: NDArray[np.uint8] = np.bitwise_or(halves[::2], halves[1::2] << 4)
        return (deflate(pairs),)

    def unpack(self, streams: Sequence[bytes], count: int) -> Codes:
        """Sign-extends each half: it is shifted to the upper half of a byte, and arithmetically back."""
        pairs = inflate(streams[0], (count + 1) // 2)
        codes = np.empty((pairs.size, 2), np.int8)
        codes[:, 0] = (pairs << 4).view(np.int8) >> 4
        codes[:, 1] = pairs.view(np.int8) >> 4
        flat = codes.reshape(-1)
        if flat[count:].any():
            raise malformed("a code follows after the last parameter")
        return flat[:count]

    def raw_bytes(self, count: int, nonzero: int) -> int:  # noqa: ARG002 - zeros take as much
        return (count + 1) // 2


def malformed(detail: str) -> WireError:
    """The error for a payload whose streams are invalid."""
    return WireError("update.malformed", f"deflated codes: {detail}")


def deflate(data: NDArray[np.uint8]) -> bytes:
    """A raw stream, which `inflate` reads."""
    stream = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return stream.compress(data.tobytes()) + stream.flush()


def inflate(stream: bytes, count: int) -> NDArray[np.uint8]:
    """Exactly `count` bytes; no more are allocated. Raises WireError ``update.malformed``."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        # One byte more, because zlib reports the end of a stream only when more output is requested.
        found = inflater.decompress(stream, count + 1)
    except zlib.error as error:
        raise malformed(str(error)) from error
    if len(found) != count or not inflater.eof or inflater.unused_data:
        raise malformed(f"a stream does not hold {count} bytes and nothing else")
    return np.frombuffer(found, np.uint8)
