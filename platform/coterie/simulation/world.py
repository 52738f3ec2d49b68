"""The shared state of a simulation's components: time, devices, data and the count of bytes."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.clock import Clock
from coterie.simulation.device import Device
from coterie.simulation.ledger import Ledger
from coterie.simulation.scenario import Speed
from coterie.simulation.streams import Drawn
from coterie_learning.random import derive_seed


@dataclass(frozen=True, eq=False)
class World:
    """One running simulation."""

    speed: Speed
    """Speed of an average device."""
    begins_s: float
    """When the operator starts the federation, or devices start to train."""
    drawn: Drawn
    devices: tuple[Device, ...]
    seed: int
    clock: Clock = field(default_factory=Clock)
    ledger: Ledger = field(default_factory=Ledger)

    def seed_of(self, *path: str | int) -> int:
        """A seed for one of the random draws."""
        return derive_seed(self.seed, *path)

    def training_seed(self, device: Device) -> int:
        """Seed for the next training of `device`, in a round or between rounds."""
        device.trainings += 1
        return self.seed_of("training", device.number, device.trainings)

    def training_s(self, device: Device, samples: int) -> float:
        """Training time of `device` on so many samples, counted once for each epoch."""
        return samples * self.speed.sample_s * device.slowness

    def falls_silent(self, device: Device, round_: int) -> bool:
        """Whether `device` drops out of the round without notice."""
        share = device.link.lost
        return share > 0 and self.seed_of("lost", round_, device.number) / 2**53 < share

    def download_s(self, device: Device, size_bytes: int) -> float:
        return self.speed.latency_s + size_bytes / device.link.downlink_bytes_s

    def upload_s(self, device: Device, size_bytes: int) -> float:
        return self.speed.latency_s + size_bytes / device.link.uplink_bytes_s


class Component(Protocol):
    """One part of a simulation, such as rounds, help or local training."""

    def begin(self) -> None:
        """Schedule the first events."""

    def on_batch(self, device: Device, batch: Dataset, predicted: NDArray[np.int64]) -> None:
        """`device` has received a batch that is not empty; its model predicted `predicted`."""
