"""Choice of devices for a round: uniform, without replacement, decided by the round's seed alone."""

import hashlib
from collections.abc import Iterable


def choose(devices: Iterable[str], *, count: int, seed: int) -> tuple[str, ...]:
    """`count` of `devices` (all, where there are fewer).

    Every device draws a lot, the hash of the seed and its name, and the lowest win: the same devices and seed give the
    same choice in whatever order they come, and a device's lot does not depend on who else is there.
    """
    return tuple(sorted(devices, key=lambda device: _lot(device, seed))[:count])


def _lot(device: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}/{device}".encode()).digest()


def derive_seed(seed: int, *path: str | int) -> int:
    """A seed of 53 bits for one part of a larger whole; parts with different paths get unrelated seeds."""
    digest = hashlib.sha256("/".join(map(str, (seed, *path))).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11
