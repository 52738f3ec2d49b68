"""Random numbers that decide bits: dithering, shuffling, selection, and the seeds of steps.

They come from two standards, so that any language repeats them bit for bit (`tests/contract/golden/random.json` has
examples). A *path* names what a number is for: an integer seed and words or counters, in decimals or as they are,
joined by ``/`` in UTF-8. The first word after the seed says what for, and no two uses share it. Its SHA-256 is a lot,
and the beginning of that a seed. Where many numbers are needed, the SHA-256 is the key of ChaCha20 (RFC 8439) with the
nonce ``LibsodiumDRG``, and the key stream from block 0 on is what is drawn: libsodium's
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
    """The numbers below `count` in random order [count]: each draws 64 bits, little-endian, and the
    lowest comes first; of equal ones the lower number does."""
    lots = np.frombuffer(random_bytes(8 * count, seed, *path), "<u8")
    order: NDArray[np.int64] = lots.argsort(kind="stable").astype(np.int64)
    return order


def lot(seed: int, *path: str | int) -> bytes:
    """32 bytes to put things in order by, whose order does not depend on what else is there."""
    return _digest(seed, *path)


def derive_seed(seed: int, *path: str | int) -> int:
    """A seed for one part of a larger whole: the first 53 bits of the path's lot.

    Parts with different paths get unrelated seeds.
    """
    return int.from_bytes(_digest(seed, *path)[:8], "big") >> 11


def step_seed(seed: int, step: int) -> int:
    """The seed of optimisation step `step` of a training with seed `seed`: 52 bits, which graphs divide exactly."""
    return derive_seed(seed, "step", step) >> 1


def epoch_order(samples: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """The order [samples] in which epoch `epoch` of a training with seed `seed` goes through them."""
    return permutation(samples, seed, "epoch", epoch)


def part_seed(seed: int, part: int) -> int:
    """The seed that part `part` of an update is encoded with; the first has the training's own."""
    return derive_seed(seed, "part", part) if part else seed


def device_lot(seed: int, device: str) -> bytes:
    """What puts a device in its place among those that a round with seed `seed` chooses from."""
    return lot(seed, "lot", device)


def _digest(seed: int, *path: str | int) -> bytes:
    return hashlib.sha256("/".join(map(str, (seed, *path))).encode()).digest()
