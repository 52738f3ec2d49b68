"""Devices that train by themselves on what is new, whenever they may."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.device import Arrived, Device, joined
from coterie.simulation.world import World

LOOK_S = 0.5
"""An agent looks so often whether it may train on."""
Asks = Callable[[Device], bool]


class LocalTraining:
    """Each device alone; what comes while it trains waits for its next training.

    The newest batch is kept to judge on: always where it `spares_newest`, else while the device waits for help.
    """

    def __init__(
        self, world: World, *, period_s: float, epochs: int, spares_newest: bool, is_asking: Asks, is_busy: Asks
    ) -> None:
        self._world, self._period_s, self._epochs = world, period_s, epochs
        self._spares_newest, self._is_asking, self._is_busy = spares_newest, is_asking, is_busy
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
            due_s = max(self._began_s.get(device.number, 0.0) + self._period_s, self._world.scenario.begins_s)
            self._world.clock.at(due_s, lambda: self._start(device))

    def _start(self, device: Device) -> None:
        world, now_s = self._world, self._world.clock.now_s
        new = self._new(device)
        if not new or self._is_busy(device):
            self._planned.discard(device.number)
            if self._is_asking(device):
                world.clock.at(now_s + LOOK_S, lambda: self._plan(device))
            return
        self._began_s[device.number] = now_s
        device.trained_up_to_s = new[-1].time_s
        data, first = joined([arrived.batch for arrived in new]), new[0].first
        work_s = world.training_s(device, len(data.labels) * self._epochs)
        seed = world.training_seed(device)
        world.clock.at(device.day.done_at(now_s, work_s), lambda: self._finish(device, data, first, seed))

    def _new(self, device: Device) -> Sequence[Arrived]:
        """What the device has not trained on and need not keep."""
        spared = 1 if self._spares_newest or self._is_asking(device) else 0
        kept = list(device.window)
        return [arrived for arrived in kept[: len(kept) - spared] if arrived.time_s > device.trained_up_to_s]

    def _finish(self, device: Device, data: Dataset, first: int, seed: int) -> None:
        self._planned.discard(device.number)
        size = device.learner.batch_size or len(data.labels)
        for start in range(0, len(data.labels), size):
            device.learner = device.learner.learn(
                data.take(slice(start, start + size)), seed=seed + start, first=first + start
            )
        if self._new(device) or self._is_asking(device):
            self._plan(device)
