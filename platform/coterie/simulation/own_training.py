"""Devices that train by themselves on what is new, whenever they may."""

import numpy as np
from numpy.typing import NDArray

from coterie.learning.datasets import Dataset
from coterie.simulation.device import Device
from coterie.simulation.world import World


class OwnTraining:
    """Each device alone; what comes while it trains waits for its next training."""

    def __init__(self, world: World, *, period_s: float, epochs: int) -> None:
        self._world, self._period_s, self._epochs = world, period_s, epochs
        self._planned: set[int] = set()

    def begin(self) -> None:
        pass

    def on_batch(self, device: Device, batch: Dataset, predicted: NDArray[np.int64]) -> None:  # noqa: ARG002
        if device.number not in self._planned:
            self._planned.add(device.number)
            due_s = max(device.trained_at_s + self._period_s, self._world.scenario.begins_s)
            self._world.clock.at(due_s, lambda: self._start(device))

    def _start(self, device: Device) -> None:
        world, now_s = self._world, self._world.clock.now_s
        data = device.data(since_s=device.trained_at_s)
        device.trained_at_s = now_s
        if data is None:  # the window has moved on meanwhile
            self._planned.discard(device.number)
            return
        work_s = world.training_s(device, len(data.labels) * self._epochs)
        seed = world.training_seed(device)
        world.clock.at(device.day.done_at(now_s, work_s), lambda: self._finish(device, data, seed))

    def _finish(self, device: Device, data: Dataset, seed: int) -> None:
        self._planned.discard(device.number)
        device.learner = device.learner.learn(data, seed=seed)
        if device.data(since_s=device.trained_at_s) is not None:
            self.on_batch(device, data, data.classes)
