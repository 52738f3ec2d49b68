"""The centralised baseline: samples are uploaded, one model learns from all of them and is sent to every device."""

import numpy as np
from numpy.typing import NDArray

from coterie.learning.datasets import Dataset
from coterie.simulation.baselines.centralised import Centralised
from coterie.simulation.device import Device, joined
from coterie.simulation.world import World
from coterie_wire.tensors import encode_tensors


class Pooling:
    """The cloud is quick: training takes it no time."""

    def __init__(self, world: World, centralised: Centralised) -> None:
        self._world, self._period_s = world, centralised.period_s
        self._learner = world.devices[0].learner
        self._new: list[Dataset] = []
        self._trainings = 0
        self._next_s = 0.0

    def begin(self) -> None:
        pass

    def on_batch(self, device: Device, batch: Dataset, predicted: NDArray[np.int64]) -> None:  # noqa: ARG002
        world = self._world
        size_bytes = len(encode_tensors({**batch.inputs, "y": batch.labels}))
        world.ledger.count("raw", size_bytes)
        if not self._new:
            # Batches that come at one moment are learned from together, once the slowest has arrived.
            due_s = max(world.clock.now_s + world.drawn.tick_s / 2, self._next_s)
            world.clock.at(due_s, self._train)
        self._new.append(batch)

    def _train(self) -> None:
        world = self._world
        self._trainings += 1
        self._next_s = world.clock.now_s + self._period_s
        self._learner = self._learner.learn(joined(self._new), seed=world.seed_of("pooled", self._trainings))
        self._new = []
        for device in world.devices:
            device.learner = self._learner
            world.ledger.count("versions", self._learner.size_bytes)
