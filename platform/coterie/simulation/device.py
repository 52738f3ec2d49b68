"""A virtual device: its data so far, its model, its speed and its schedule."""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.simulation.days import Day, day_of
from coterie.simulation.learner import Learner
from coterie.simulation.scenario import Scenario, Speed
from coterie_learning.random import derive_seed
from coterie_wire.conditions import Requirements


class Arrived(NamedTuple):
    """A batch and its time of arrival."""

    time_s: float
    batch: Dataset
    first: int
    """Number of its first sample; the others follow."""

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + len(self.batch.labels))


class NetworkLink(NamedTuple):
    """A device's connection, and how often it fails."""

    uplink_bytes_s: float
    downlink_bytes_s: float
    waits_s: float = 0.0
    """Seconds of waiting in a round, besides training, transfers and the latency."""
    lost: float = 0.0
    """Share of a device's parts in rounds that never deliver."""


UNLIMITED = NetworkLink(math.inf, math.inf)


class KeptPortion(NamedTuple):
    """A portion from a helper, and the plan under which it was sent."""

    plan: bytes
    """The `coterie_learning.device_plan.DevicePlan`, as JSON."""
    classes: tuple[int, ...]
    payload: bytes


@dataclass(eq=False)
class Device:
    """A virtual device; the only mutable state of a simulation's learners."""

    number: int
    learner: Learner
    day: Day
    slowness: float
    """Factor of its computing time over the world's speed."""
    window: deque[Arrived]
    """The batches that it stores, the newest last."""
    link: NetworkLink = UNLIMITED
    samples: list[int] = field(default_factory=list)
    """Samples of each batch so far."""
    correct: list[int] = field(default_factory=list)
    """Correct predictions of each batch so far, before the device trained on it."""
    trained: int = 0
    """Number of the newest sample used in local training."""
    trainings: int = 0
    """Trainings started so far, in rounds and between them; each has its own seed."""
    portions: list[KeptPortion] = field(default_factory=list)
    """Portions stored since its last accepted update, oldest first."""
    _met: int = 0
    """Samples so far."""

    @property
    def name(self) -> str:
        return f"device-{self.number}"

    def meet(self, batch: Dataset, now_s: float) -> Dataset:
        """Predict a new batch, then store it; returns the batch with predictions in place of labels."""
        predicted = self.learner.predict(batch.inputs).argmax(axis=1) if len(batch.labels) else batch.labels
        self.samples.append(len(batch.labels))
        self.correct.append(int((predicted == batch.labels).sum()))
        if len(batch.labels):
            self.window.append(Arrived(now_s, batch, first=self._met + 1))
            self._met += len(batch.labels)
        return Dataset(batch.inputs, predicted)

    def data(self, *, since_s: float) -> Sequence[Arrived]:
        """Stored batches that arrived after `since_s`, oldest first."""
        return [arrived for arrived in self.window if arrived.time_s > since_s]

    def since(self, number: int) -> Sequence[Arrived]:
        """Stored batches with samples of higher numbers, oldest first; other batches are not read."""
        newer = takewhile(lambda arrived: arrived.numbers.stop > number + 1, reversed(self.window))
        return list(newer)[::-1]

    def seen(self) -> tuple[int, ...]:
        """The classes of the stored samples, ascending."""
        return tuple(sorted({label for arrived in self.window for label in arrived.batch.labels.tolist()}))

    def newest(self, batches: int) -> Dataset | None:
        """Samples of the newest `batches` not used in local training, or else all; None where it has none.

        A model's accuracy on its training samples is too high to compare it with others.
        """
        newest = list(islice(reversed(self.window), batches))[::-1]
        if not newest:
            return None
        data, new = joined([arrived.batch for arrived in newest]), untrained(numbers_of(newest), self.trained)
        return data.take(slice(len(data.labels) - len(new), None)) if new else data


def untrained(numbers: Sequence[int], trained: int) -> Sequence[int]:
    """Those of the samples `numbers`, oldest first, that follow the sample numbered `trained`."""
    return numbers[bisect_right(numbers, trained) :]


def numbers_of(arrived: Sequence[Arrived]) -> Sequence[int]:
    """The numbers of all samples in `arrived`, in their order."""
    return [number for one in arrived for number in one.numbers]


def joined(parts: Sequence[Dataset]) -> Dataset:
    """All samples of `parts`, of which there is at least one, in their order."""
    if len(parts) == 1:
        return parts[0]
    inputs = {name: np.concatenate([part.inputs[name] for part in parts]) for name in parts[0].inputs}
    return Dataset(inputs, np.concatenate([part.labels for part in parts]))


def make_devices(
    scenario: Scenario, requirements: Requirements, learner: Learner, *, count: int, seed: int
) -> tuple[Device, ...]:
    """`count` devices that all start from `learner`; a device does not depend on their number."""
    return tuple(_make_device(scenario, requirements, learner, number, seed) for number in range(count))


def _make_device(scenario: Scenario, requirements: Requirements, learner: Learner, number: int, seed: int) -> Device:
    rng = np.random.default_rng(derive_seed(seed, "device", number))
    spread = scenario.habits.spread_h
    shift_h = float(rng.uniform(-spread, spread))
    return Device(
        number=number,
        learner=learner,
        day=day_of(scenario.habits, requirements, shift_h=shift_h),
        slowness=_slowness(scenario.speed, rng),
        window=deque(maxlen=scenario.window),
        link=NetworkLink(scenario.speed.uplink_bytes_s, scenario.speed.downlink_bytes_s),
    )


def _slowness(speed: Speed, rng: np.random.Generator) -> float:
    slowness = float(np.exp(rng.normal(0, speed.spread)))
    return slowness * speed.straggler_factor if rng.random() < speed.stragglers else slowness
