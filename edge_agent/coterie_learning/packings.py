"""Ways in which a chunk of codes is packed into bytes that zlib makes smaller.

zlib looks for runs alone (`Z_RLE`), which takes a fraction of the time of other matches and finds the parts of a
network that have learned nothing.
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
"""Signs in a byte."""
POWERS = np.array([81, 27, 9, 3, 1], np.uint8)
_SIGNS = np.array([[byte // int(power) % 3 - 1 for power in POWERS] for byte in range(3**DIGITS)], np.int8)
"""The signs that a byte stands for."""
STORED_BYTES = 5
"""What zlib adds to each 16 KiB that it cannot make smaller."""
OVERHEAD_BYTES = 24
"""What it adds to a stream besides, at most."""
EMPTY_BYTES = 2
"""A stream of nothing."""


class Packing:
    """Codes of a chunk as streams of bytes, each deflated by itself."""

    streams: ClassVar[int]
    """Of a chunk."""

    def pack(self, codes: Codes) -> Sequence[bytes]:
        """The deflated streams."""
        raise NotImplementedError

    def unpack(self, streams: Sequence[bytes], count: int) -> Codes:
        """`count` codes; no more than they need is allocated. Raises WireError ``update.malformed``."""
        raise NotImplementedError

    def raw_bytes(self, count: int, nonzero: int) -> int:
        """Before they are deflated, of `count` codes of which at most `nonzero` are not zero."""
        raise NotImplementedError

    def most_bytes(self, count: int, nonzero: int, chunks: int) -> int:
        """What zlib cannot make smaller it stores."""
        raw = self.raw_bytes(count, nonzero)
        return raw + STORED_BYTES * (raw >> 14) + self.streams * chunks * OVERHEAD_BYTES

    def least_bytes(self, chunks: int) -> int:
        """If there is nothing to tell."""
        return self.streams * EMPTY_BYTES * chunks


class SignsAndMagnitudes(Packing):
    """For codes that are mostly zero: the signs, five to a byte, and the magnitudes of those that are not zero.

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
        """The sign is the highest of four bits: each half is moved up to where it is that of a byte, and down again."""
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
    """A payload whose streams no device can have written."""
    return WireError("update.malformed", f"deflated codes: {detail}")


def deflate(data: NDArray[np.uint8]) -> bytes:
    """A raw stream, which `inflate` reads."""
    stream = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return stream.compress(data.tobytes()) + stream.flush()


def inflate(stream: bytes, count: int) -> NDArray[np.uint8]:
    """Exactly `count` bytes; no more are allocated. Raises WireError ``update.malformed``."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        # One byte more, because a stream that ends in time says so only when it is asked for what follows.
        found = inflater.decompress(stream, count + 1)
    except zlib.error as error:
        raise malformed(str(error)) from error
    if len(found) != count or not inflater.eof or inflater.unused_data:
        raise malformed(f"a stream does not hold {count} bytes and nothing else")
    return np.frombuffer(found, np.uint8)
