"""Choice of devices for a round: uniform, without replacement, decided by the round's seed alone."""

from collections.abc import Iterable

from coterie_learning.random import lot


def choose(devices: Iterable[str], *, count: int, seed: int) -> tuple[str, ...]:
    """`count` of `devices` (all, where there are fewer).

    Every device draws a lot, the hash of the seed and its name, and the lowest win: the same devices and seed give the
    same choice in whatever order they come, and a device's lot does not depend on who else is there.
    """
    return tuple(sorted(devices, key=lambda device: lot(seed, device))[:count])
