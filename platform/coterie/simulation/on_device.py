"""Training and encoding on a virtual device with the agent's own runner, on samples in memory."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import NOTHING_FROZEN, Frozen, open_session, predict_logits
from coterie_agent.errors import AgentError
from coterie_agent.store.samples import FLOAT_BYTES, NO_CLASS, StoredRow
from coterie_agent.training.batches import make_batch
from coterie_agent.training.predictor import Predictor
from coterie_agent.training.trainer import open_steps, train_graph
from coterie_learning.client.optimisation import OpenSteps
from coterie_learning.client.teacher_probabilities import stored_probabilities, teacher_targets
from coterie_learning.client.training import Learn, Training
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Float32, Tensors, encode_tensors


class Graphs(NamedTuple):
    """The graphs that all devices of one model share."""

    spec: ModelSpec
    open_steps: OpenSteps
    predict: onnxruntime.InferenceSession
    train_step: bytes
    predict_graph: bytes
    frozen: Frozen = NOTHING_FROZEN
    """The tensors that are the same in all versions."""

    @classmethod
    def of(cls, spec: ModelSpec, *, train_step: bytes, predict: bytes, frozen: Frozen = NOTHING_FROZEN) -> Self:
        """Both graphs of a model, opened."""
        steps = open_steps(train_graph(train_step, spec, threads=1), frozen_tensors=frozen)
        return cls(spec, steps, open_session(predict), train_step, predict, frozen)

    def outputs(self, parameters: Tensors, dataset: Dataset) -> Float32:
        """The model's outputs for the samples of `dataset`, [n, ...]."""
        return predict_logits(self.predict, parameters, dataset, self.frozen)

    def predictor(self, parameters: Tensors) -> Predictor:
        """The agent's predictor with these parameters."""
        return Predictor(self.predict_graph, self.spec, parameters, self.frozen, threads=1)

    @property
    def size_bytes(self) -> int:
        """Size of both graphs and the frozen tensors, which a device downloads once."""
        frozen = len(encode_tensors(self.frozen)) if self.frozen else 0
        return len(self.train_step) + len(self.predict_graph) + frozen


class Rows:
    """The samples of a device under their numbers, as an agent stores them."""

    def __init__(self, dataset: Dataset, spec: ModelSpec, numbers: Sequence[int]) -> None:
        """`numbers` are those of the samples of `dataset`, in their order."""
        flat = [dataset.inputs[tensor.name].reshape(len(numbers), -1) for tensor in spec.inputs]
        features = _split(np.concatenate(flat, axis=1))
        if spec.task == "classes":
            stored = zip(numbers, features, dataset.classes.tolist(), strict=True)
            self._rows = {number: StoredRow(number, x, label) for number, x, label in stored}
        else:
            targets = _split(dataset.labels.reshape(len(numbers), -1))
            several = zip(numbers, features, targets, strict=True)
            self._rows = {number: StoredRow(number, x, NO_CLASS, target) for number, x, target in several}

    @property
    def ids(self) -> Sequence[int]:
        return list(self._rows)

    def load(self, ids: Sequence[int], /) -> Sequence[StoredRow]:
        return [self._rows[number] for number in ids if number in self._rows]


def _split(rows: NDArray[np.generic]) -> list[bytes]:
    """Each of `rows` [n, numbers] as the float32 that an agent stores."""
    content, width = rows.astype(np.float32).tobytes(), FLOAT_BYTES * rows.shape[1]
    return [content[start : start + width] for start in range(0, len(content), width)]


class Taught:
    """A teacher's probabilities for some samples, as stored by an agent."""

    def __init__(self, probabilities: Float32, numbers: Sequence[int]) -> None:
        """`probabilities` [samples, classes] of the samples `numbers`, in their order."""
        self._stored = dict(zip(numbers, stored_probabilities(probabilities), strict=True))

    def __call__(self, ids: Sequence[int], classes: Sequence[int]) -> Float32:
        """The probabilities for a device that has `classes`, or all."""
        return teacher_targets(np.stack([self._stored[number] for number in ids]), classes)


def run_training(
    training: Training,
    graphs: Graphs,
    rows: Rows,
    *,
    teacher: Taught | None = None,
    steps_allowed: int | None = None,
) -> Tensors:
    """Run `training` for at most `steps_allowed` steps, and return its result.

    Raises Diverged, or WireError ``plan.does_not_fit``.
    """
    predictor: Predictor | None = None
    while (wanted := training.next_task()) is not None:
        if isinstance(wanted, Learn):
            if training.steps_done == steps_allowed:
                training.end_early()
                continue
            batch = make_batch(rows.load(wanted.ids), graphs.spec, size=graphs.spec.batch_size)
            training.learn(batch, None if teacher is None else teacher(wanted.ids, training.classes))
            continue
        predictor = predictor or graphs.predictor(wanted.parameters)
        predictor.set_parameters(wanted.parameters)
        training.record_loss(wanted, _loss(predictor, rows, wanted.ids, training))
    return training.trained()


def _loss(predictor: Predictor, rows: Rows, ids: Sequence[int], training: Training) -> float:
    try:
        found = predictor.measure(rows, loss_of=ids, accuracy_of=(), stop=_never)
    except AgentError as error:
        if error.code == "agent.diverged" and training.judges_start:
            return math.inf  # there is a better one, from which it began
        raise
    assert found is not None, "nothing stops it"
    return found.loss


def _never() -> bool:
    return False
