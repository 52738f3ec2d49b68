"""Runs a compiled train step as a device does; NumPy and onnxruntime only."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.learning.datasets import Dataset
from coterie.learning.evaluate import open_session
from coterie_wire.bundle import ModelSpec
from coterie_wire.codec import Float32, Tensors
from coterie_wire.local import StepWeights

Arrays = Mapping[str, NDArray[np.generic]]


class Training(NamedTuple):
    """Where training stands; a step gives the next one."""

    parameters: Tensors
    velocities: Tensors


class Batch(NamedTuple):
    """At most `batch_size` samples with their weights, and the teacher's probabilities where there is a teacher."""

    dataset: Dataset
    teacher: Float32 | None = None
    """[n, classes]."""


class StepOutcome(NamedTuple):
    """What one step did."""

    training: Training
    loss: float
    correct: float
    """Samples that the parameters before the step classified rightly."""


class DeviceSteps:
    """A train step graph, opened."""

    def __init__(self, train_step: bytes, model: ModelSpec) -> None:
        self._session = open_session(train_step)
        self._model = model
        self._outputs = [output.name for output in self._session.get_outputs()]

    def begin(self, parameters: Tensors) -> Training:
        """Training from `parameters`, at rest."""
        return Training(parameters, {name: np.zeros_like(tensor) for name, tensor in parameters.items()})

    def step(
        self, training: Training, batch: Batch, weights: StepWeights, anchors: Tensors | None = None
    ) -> StepOutcome:
        """One optimisation step; `anchors` are the proximal term's centre, by default where the parameters are."""
        feed: dict[str, NDArray[np.generic]] = {
            **self._padded(batch),
            "learning_rate": np.array(weights.learning_rate, np.float32),
            "momentum": np.array(weights.momentum, np.float32),
            "proximal_weight": np.array(weights.proximal_weight, np.float32),
            "distillation_weight": np.array(weights.distillation_weight, np.float32),
        }
        for role, tensors in (
            ("param", training.parameters),
            ("anchor", anchors or training.parameters),
            ("velocity", training.velocities),
        ):
            feed.update({f"{role}.{name}": tensor for name, tensor in tensors.items()})
        results = dict(zip(self._outputs, self._run(feed), strict=True))
        names = [spec.name for spec in self._model.parameters]
        return StepOutcome(
            training=Training(
                {name: results[f"next.param.{name}"] for name in names},
                {name: results[f"next.velocity.{name}"] for name in names},
            ),
            loss=float(results["loss"]),
            correct=float(results["correct"]),
        )

    def _run(self, feed: Arrays) -> list[Float32]:
        found: list[Float32] = self._session.run(self._outputs, feed)
        return found

    def _padded(self, batch: Batch) -> Arrays:
        """The batch filled up to its fixed size with copies of its first sample, which weigh nothing."""
        count, size = len(batch.dataset.labels), self._model.batch_size
        assert 0 < count <= size, "a batch is neither empty nor larger than the graph's"
        rows = np.concatenate([np.arange(count), np.zeros(size - count, np.int64)])
        filled = batch.dataset.take(rows)
        teacher = np.zeros((count, self._model.classes), np.float32) if batch.teacher is None else batch.teacher
        return {
            **filled.inputs,
            "target": filled.labels,
            "sample_weight": (np.arange(size) < count).astype(np.float32),
            "teacher": teacher[rows],
        }
