"""Gaussian noise from a secret key: reproducible with the key, and indistinguishable from random without it.

Standard normal numbers come from the ChaCha20 stream of `coterie_learning.random` by the Box-Muller transform (1958,
doi 10.1214/aoms/1177706645), each pair from two uniform numbers of 53 bits; none is beyond 8.6. Rounded noise is added
to integers, so that low-order bits reveal nothing about the value that it was added to (Mironov 2012, doi
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
"""Numbers drawn at once, in blocks at fixed positions, so that the noise of an element does not depend on the span."""


def whole_noise(deviation: float, key: bytes, name: str, start: int, count: int) -> Int64:
    """Elements [start, start + count) of the noise of tensor `name`, rounded; the standard deviation is at most 2^58.

    Different names have independent noise.
    """
    return filtered_noise(deviation, [1.0], [key], name, start, count)


def filtered_noise(
    deviation: float, shares: Sequence[float], keys: Sequence[bytes], name: str, start: int, count: int
) -> Int64:
    """Noise like `whole_noise`: the sum of the noise of several `keys`, each times its share, rounded once."""
    noise = np.empty(count, np.int64)
    for place in range(start // DRAWN, -(-(start + count) // DRAWN)):
        begin, end = max(start, place * DRAWN), min(start + count, (place + 1) * DRAWN)
        drawn = np.zeros(DRAWN)
        for share, key in zip(shares, keys, strict=True):
            drawn += share * _normals(key, name, place)
        noise[begin - start : end - start] = np.rint(drawn[begin - place * DRAWN : end - place * DRAWN] * deviation)
    return noise


def release_key(secret: bytes, *what: str) -> bytes:
    """The key [32 bytes] of one release under `secret`, unique to the set `what`, whose order does not matter."""
    return hashlib.blake2b("\n".join(sorted(what)).encode(), key=secret, digest_size=32).digest()


def digest_of(what: Iterable[str]) -> str:
    """The SHA-256 of the set `what`, whose order does not matter; identifies a sum, and is not secret."""
    return hashlib.sha256("\n".join(sorted(what)).encode()).hexdigest()


def _normals(key: bytes, name: str, place: int) -> Float64:
    """Independent standard normal numbers [DRAWN]: block number `place` of tensor `name`."""
    stream = random_bytes(8 * DRAWN, int.from_bytes(key, "big"), "noise", name, place)
    uniform = ((np.frombuffer(stream, "<u8") >> 11) + 1).astype(np.float64) * 2.0**-53  # above 0, up to 1
    radius, turn = np.sqrt(-2 * np.log(uniform[0::2])), 2 * np.pi * uniform[1::2]
    return np.concatenate([radius * np.cos(turn), radius * np.sin(turn)])
