"""Baselines that upload samples: a model learns from all of them, and is sent to every device or predicts for it."""

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.device import Device, joined
from coterie.simulation.learner import Learner
from coterie.simulation.world import World
from coterie_learning.local import Local
from coterie_wire.tensors import encode_tensors

if TYPE_CHECKING:
    from coterie.simulation.cloud_model import CloudModel


class Trains(Protocol):
    """Trains the next model for all devices."""

    def __call__(self, former: Learner, new: Dataset, seed: int) -> Learner:
        """`new` are the samples since the last training."""


def train_on(former: Learner, new: Dataset, seed: int) -> Learner:
    """Trains the device model on the new samples."""
    return former.learn(new, seed=seed)


class Retraining:
    """Retrains the cloud model on all samples."""

    def __init__(self, model: "CloudModel", data: Dataset, local: Local) -> None:
        self._model, self._local = model, local
        self._data = [data]

    def __call__(self, former: Learner, new: Dataset, seed: int) -> Learner:  # noqa: ARG002 - it begins anew
        self._data.append(new)
        state = self._model.bootstrap(joined(self._data), seed=seed)
        return self._model.learner(state, self._local)


class Pooling:
    """Training in the cloud takes no simulated time."""

    def __init__(self, world: World, *, first: Learner, period_s: float, trains: Trains, answers: bool = False) -> None:
        """Where it `answers`, devices have no model: predictions are made in the cloud and sent back."""
        self._world, self._period_s, self._trains, self._answers = world, period_s, trains, answers
        self._learner = first
        self._new: list[Dataset] = []
        self._trainings = 0
        self._next_s = world.begins_s

    def begin(self) -> None:
        for device in self._world.devices:
            self._send(device)

    def on_batch(self, device: Device, batch: Dataset, predicted: NDArray[np.int64]) -> None:  # noqa: ARG002
        world = self._world
        if self._answers:
            world.ledger.count("answers", len(encode_tensors({"y": predicted})))
        world.ledger.count("raw", len(encode_tensors({**batch.inputs, "y": batch.labels})))
        if not self._new:
            # Batches that arrive at the same time are trained on together, once the slowest has been uploaded.
            world.clock.at(max(world.clock.now_s + world.drawn.tick_s / 2, self._next_s), self._train)
        self._new.append(batch)

    def _train(self) -> None:
        world = self._world
        self._trainings += 1
        self._next_s = world.clock.now_s + self._period_s
        self._learner = self._trains(self._learner, joined(self._new), world.seed_of("pooled", self._trainings))
        self._new = []
        for device in world.devices:
            self._send(device)

    def _send(self, device: Device) -> None:
        device.learner = self._learner
        if self._answers:
            return
        self._world.ledger.count("versions", self._learner.size_bytes)
