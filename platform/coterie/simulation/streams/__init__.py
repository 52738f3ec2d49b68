"""Streams of samples for virtual devices. One module a kind."""

from collections.abc import Sequence
from typing import NamedTuple

from coterie.evaluation.datasets import Dataset
from coterie.simulation.learner import Task
from coterie_learning.kinds import Kind


class Shift(NamedTuple):
    """A change of a device's data, from which its recovery is measured."""

    device: int
    tick: int
    """The first one whose batch is changed."""


class Drawn(NamedTuple):
    """All data of one simulation."""

    task: Task
    tick_s: float
    """Simulated seconds from one batch of a device to its next."""
    cloud: Dataset
    """The initial cloud data."""
    batches: Sequence[Sequence[Dataset]]
    """Batches of each device, by tick; may be empty."""
    shifts: tuple[Shift, ...] = ()
    groups: tuple[int, ...] = ()
    """The true group of each device, for evaluating splits; empty where there is only one."""


class Stream(Kind, frozen=True):
    """Hyperparameters of a generator of data."""

    def draw(self, *, devices: int, seed: int) -> Drawn:
        """The data of `devices` devices, decided by `seed` alone."""
        raise NotImplementedError
