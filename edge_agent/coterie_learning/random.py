"""Reproducible random numbers: dithering, shuffling, selection, and the seeds of steps.

They are defined by two standards, so that any language can reproduce them bit for bit
(`tests/contract/golden/random.json` has examples). A *path* names the purpose of a number: an integer seed and words or
counters in decimal, joined by ``/`` in UTF-8. The first word after the seed is unique to each use. The SHA-256 of the
path is a *lot*, whose first bits are a seed. Where many numbers are needed, the SHA-256 is the key of ChaCha20 (RFC
8439) with the nonce ``LibsodiumDRG``, and the numbers are the key stream from block 0 on: libsodium's
`randombytes_buf_deterministic`. Nothing here is secret.
"""

import hashlib

import numpy as np
from nacl.utils import randombytes_deterministic
from numpy.typing import NDArray


def random_bytes(count: int, seed: int, *path: str | int) -> bytes:
    """`count` bytes, at most 2**38; a longer stream of the same path begins with them."""
    return randombytes_deterministic(count, _digest(seed, *path))


def permutation(count: int, seed: int, *path: str | int) -> NDArray[np.int64]:
    """The numbers below `count` in random order [count]: sorted by 64 random bits each, little-endian; ties are sorted
    by the numbers themselves."""
    lots = np.frombuffer(random_bytes(8 * count, seed, *path), "<u8")
    order: NDArray[np.int64] = lots.argsort(kind="stable").astype(np.int64)
    return order


def lot(seed: int, *path: str | int) -> bytes:
    """32 bytes as a random sort key, which does not depend on the other items that are sorted."""
    return _digest(seed, *path)


def derive_seed(seed: int, *path: str | int) -> int:
    """A seed for one part of a larger whole: the first 53 bits of the path's lot.

    Different paths give independent seeds.
    """
    return int.from_bytes(_digest(seed, *path)[:8], "big") >> 11


def step_seed(seed: int, step: int) -> int:
    """The seed of optimisation step `step` of a training with seed `seed`: 52 bits, which graphs can divide exactly."""
    return derive_seed(seed, "step", step) >> 1


def epoch_order(samples: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """The order [samples] of the samples in epoch `epoch` of a training with seed `seed`."""
    return permutation(samples, seed, "epoch", epoch)


def part_seed(seed: int, part: int) -> int:
    """The seed with which part `part` of an update is encoded; the first has the training's seed."""
    return derive_seed(seed, "part", part) if part else seed


def device_lot(seed: int, device: str) -> bytes:
    """The random sort key of a device in the selection of a round with seed `seed`."""
    return lot(seed, "lot", device)


def _digest(seed: int, *path: str | int) -> bytes:
    return hashlib.sha256("/".join(map(str, (seed, *path))).encode()).digest()
