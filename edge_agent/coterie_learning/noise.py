"""Gaussian noise from a secret key: whoever has the key draws the same, and nobody else can tell it from chance.

Standard normal numbers come from the ChaCha20 stream of `coterie_learning.random` by the transformation of Box and
Muller 1958, doi 10.1214/aoms/1177706645, each pair from two uniform numbers of 53 bits; none is beyond 8.6. They are
added as whole numbers to whole numbers, whose low bits therefore tell nothing of what was added to (Mironov 2012, doi
10.1145/2382196.2382264).
"""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from coterie_learning.random import random_bytes

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
SECRET_BYTES = 32
DRAWN = 1 << 12
"""Numbers that are drawn at once: a span of a tensor gets the same noise, wherever it begins."""


def whole_noise(deviation: float, key: bytes, name: str, start: int, count: int) -> Int64:
    """Elements [start, start + count) of the noise of tensor `name`, rounded; its standard deviation is at most 2^58.

    Different names have unrelated noise.
    """
    return filtered_noise(deviation, [1.0], [key], name, start, count)


def filtered_noise(
    deviation: float, shares: Sequence[float], keys: Sequence[bytes], name: str, start: int, count: int
) -> Int64:
    """Noise like `whole_noise`: the sum of what several `keys` draw, each times its share, rounded once."""
    noise = np.empty(count, np.int64)
    for place in range(start // DRAWN, -(-(start + count) // DRAWN)):
        begin, end = max(start, place * DRAWN), min(start + count, (place + 1) * DRAWN)
        drawn = np.zeros(DRAWN)
        for share, key in zip(shares, keys, strict=True):
            drawn += share * _normals(key, name, place)
        noise[begin - start : end - start] = np.rint(drawn[begin - place * DRAWN : end - place * DRAWN] * deviation)
    return noise


def release_key(secret: bytes, *what: str) -> bytes:
    """The key [32 bytes] of one release under `secret`: of `what` in whatever order, and of nothing else."""
    return hashlib.blake2b("\n".join(sorted(what)).encode(), key=secret, digest_size=32).digest()


def digest_of(what: Iterable[str]) -> str:
    """The SHA-256 of `what` in whatever order, by which a sum is told from others; it is no secret."""
    return hashlib.sha256("\n".join(sorted(what)).encode()).hexdigest()


def _normals(key: bytes, name: str, place: int) -> Float64:
    """Independent standard normal numbers [DRAWN]: the draw number `place` of tensor `name`."""
    stream = random_bytes(8 * DRAWN, int.from_bytes(key, "big"), "noise", name, place)
    uniform = ((np.frombuffer(stream, "<u8") >> 11) + 1).astype(np.float64) * 2.0**-53  # above 0, up to 1
    radius, turn = np.sqrt(-2 * np.log(uniform[0::2])), 2 * np.pi * uniform[1::2]
    return np.concatenate([radius * np.cos(turn), radius * np.sin(turn)])
