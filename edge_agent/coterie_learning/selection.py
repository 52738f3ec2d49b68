"""Choice of devices for a round: uniform, without replacement, decided by the round's seed alone."""

from collections.abc import Iterable

from coterie_learning.random import lot


def choose(devices: Iterable[str], *, count: int, seed: int) -> tuple[str, ...]:
    """`count` of `devices` (all, where there are fewer).

    Devices are sorted by the hash of the seed and their names, and the lowest are chosen: the same devices and seed
    give the same choice in any order, and a device's hash does not depend on the other devices.
    """
    return tuple(sorted(devices, key=lambda device: lot(seed, device))[:count])
