"""Slot `selection`: which of the devices that could take part are asked? One module a kind; pure functions."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from coterie_learning.kinds import Kind
from coterie_learning.random import device_lot


class DeviceFacts(NamedTuple):
    """What is known of a device that could be asked now."""

    device: str
    idle_rounds: int | None = None
    """Rounds since it was asked last; None: it never was, or so long ago that nobody knows."""
    loss: float | None = None
    """Mean loss over its samples of the version that it received last; None: it has delivered nothing."""
    samples: int = 0
    """That its last update was computed from."""
    train_s: float | None = None
    """Seconds that it trained for its last update."""


class Selection(Kind, frozen=True):
    """Which devices a round asks, of those that are ready and have no part in it yet."""

    since: ClassVar[str] = "0.2"
    reads_history: ClassVar[bool] = True
    """Whether it reads more of what is `DeviceFacts` than the device's name."""

    def choose(self, devices: Sequence[DeviceFacts], *, count: int, round_number: int, seed: int) -> tuple[str, ...]:
        """`count` of `devices` (all, where there are fewer) for round `round_number`, which counts from 1.

        The same choice in whatever order they are given.
        """
        raise NotImplementedError


def choose(devices: Iterable[str], *, count: int, seed: int) -> tuple[str, ...]:
    """`count` of `devices` (all, where there are fewer), uniformly and without replacement.

    Devices are sorted by the hash of the seed and their names, and the lowest are chosen: the same devices and seed
    give the same choice in any order, and a device's hash does not depend on the other devices.
    """
    return tuple(sorted(devices, key=lambda device: device_lot(seed, device))[:count])
