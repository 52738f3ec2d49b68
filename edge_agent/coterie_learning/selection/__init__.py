"""Slot `selection`: which of the available devices are invited? One module a kind; pure functions."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from coterie_learning.kinds import Kind
from coterie_learning.random import device_lot


class DeviceFacts(NamedTuple):
    """Statistics of an available device."""

    device: str
    idle_rounds: int | None = None
    """Rounds since it was last invited; None: never, or too long ago to be known."""
    loss: float | None = None
    """Mean loss over its samples of the last version received; None: it has delivered no update."""
    samples: int = 0
    """Samples that its last update was computed from."""
    train_s: float | None = None
    """Training time of its last update, in seconds."""


class Selection(Kind, frozen=True):
    """Which of the ready devices without a part in the round are invited."""

    since: ClassVar[str] = "0.2"
    reads_history: ClassVar[bool] = True
    """Whether it uses fields of `DeviceFacts` other than the device's name."""

    def choose(self, devices: Sequence[DeviceFacts], *, count: int, round_number: int, seed: int) -> tuple[str, ...]:
        """`count` of `devices` (all, where there are fewer) for round `round_number`, which counts from 1.

        The choice does not depend on their order.
        """
        raise NotImplementedError


def choose(devices: Iterable[str], *, count: int, seed: int) -> tuple[str, ...]:
    """`count` of `devices` (all, where there are fewer), uniformly and without replacement.

    Devices are sorted by the hash of the seed and their names, and the lowest are chosen: the same devices and seed
    give the same choice in any order, and a device's hash does not depend on the other devices.
    """
    return tuple(sorted(devices, key=lambda device: device_lot(seed, device))[:count])
