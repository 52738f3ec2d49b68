"""Local training of devices on new samples, when their conditions allow it."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.device import Device, joined, numbers_of, untrained
from coterie.simulation.world import World
from coterie_learning.client.whole_batches import whole_batches


class LocalTraining:
    """Each device trains alone, on whole batches; samples that arrive meanwhile wait for its next training.

    Where it `spares_newest`, the newest batch is held out to evaluate versions on.
    """

    def __init__(
        self, world: World, *, period_s: float, epochs: int, spares_newest: bool, is_busy: Callable[[Device], bool]
    ) -> None:
        self._world, self._period_s, self._epochs = world, period_s, epochs
        self._spares_newest, self._is_busy = spares_newest, is_busy
        self._planned: set[int] = set()
        self._began_s: dict[int, float] = {}
        """By device, when its last training began."""

    def begin(self) -> None:
        pass

    def on_batch(self, device: Device, batch: Dataset, predicted: NDArray[np.int64]) -> None:  # noqa: ARG002
        self._plan(device)

    def _plan(self, device: Device) -> None:
        if device.number not in self._planned:
            self._planned.add(device.number)
            due_s = max(self._began_s.get(device.number, 0.0) + self._period_s, self._world.begins_s)
            self._world.clock.at(due_s, lambda: self._start(device))

    def _start(self, device: Device) -> None:
        world, now_s = self._world, self._world.clock.now_s
        batches = [] if self._is_busy(device) else self._new(device)
        if not batches:
            self._planned.discard(device.number)
            return
        self._began_s[device.number] = now_s
        first, device.trained = batches[0][0], batches[-1][-1]
        data = _samples(device, first, device.trained)
        work_s = world.training_s(device, len(data.labels) * self._epochs)
        world.ledger.train(work_s)
        seed = world.training_seed(device)
        world.clock.at(device.day.done_at(now_s, work_s), lambda: self._finish(device, data, batches, seed))

    def _new(self, device: Device) -> list[Sequence[int]]:
        """The numbers, in batches, of the samples that the device has not trained on and need not hold out."""
        new = device.since(device.trained)
        numbers = untrained(numbers_of(new[: len(new) - self._spares_newest]), device.trained)
        return list(whole_batches(numbers, device.learner.batch_size or max(1, len(numbers))))

    def _finish(self, device: Device, data: Dataset, batches: list[Sequence[int]], seed: int) -> None:
        self._planned.discard(device.number)
        first = batches[0][0]
        for numbers in batches:
            start, end = numbers[0] - first, numbers[-1] - first + 1
            device.learner = device.learner.learn(data.take(slice(start, end)), seed=seed + start, first=numbers[0])
        if self._new(device):
            self._plan(device)


def _samples(device: Device, first: int, last: int) -> Dataset:
    """The stored samples numbered `first` to `last`."""
    kept = device.since(first - 1)
    start = kept[0].first
    return joined([arrived.batch for arrived in kept]).take(slice(first - start, last - start + 1))
