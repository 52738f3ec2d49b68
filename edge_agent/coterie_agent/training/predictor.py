"""Prediction, and the loss and accuracy on a set of samples."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self, cast

import numpy as np

from coterie_agent.errors import AgentError
from coterie_agent.store.samples import StoredRow
from coterie_agent.training.batches import SampleSource, make_batch, make_inputs
from coterie_agent.training.graph import Graph, value
from coterie_agent.training.model import Frozen
from coterie_learning.metrics import SampleFigures, log_softmax, measure
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import TASKS_WITH_ACCURACY, predict_inputs, predict_outputs, version_names
from coterie_wire.tensors import Array, Float32, Tensors

_ROWS = 32


class Measure(NamedTuple):
    """A model's loss and accuracy on samples."""

    loss: float
    """Mean of the samples' losses."""
    accuracy: float | None
    """Share that is right; None where the task has no right and wrong."""


class Predictor:
    """The predict graph with one version's parameters."""

    def __init__(self, content: bytes, spec: ModelSpec, received: Tensors, frozen: Frozen, *, threads: int) -> None:
        """`received` are the tensors of a version, `frozen` those that all versions share.

        Raises AgentError ``model.contract`` or ``model.broken``.
        """
        inputs, outputs = frozenset(predict_inputs(spec)), frozenset(predict_outputs(spec))
        self._graph = Graph(content, inputs=inputs, outputs=outputs, threads=threads)
        self._spec, self._roles = spec, version_names(spec)
        self._frozen = {name: value(tensor) for name, tensor in frozen.items()}
        self._outputs = list(predict_outputs(spec))
        self._takes_target = bool(spec.own_loss)
        self.set_parameters(received)

    @classmethod
    def self_contained(cls, content: bytes, spec: ModelSpec, *, threads: int) -> Self:
        """A graph that holds its parameters, as `coterie_wire.variants.Variant` has it; it only predicts.

        Raises AgentError ``model.contract`` or ``model.broken``.
        """
        predictor = cls.__new__(cls)
        predictor._outputs = [spec.output.name]
        inputs = frozenset(tensor.name for tensor in spec.inputs)
        predictor._graph = Graph(content, inputs=inputs, outputs=frozenset(predictor._outputs), threads=threads)
        predictor._spec, predictor._roles, predictor._frozen = spec, {}, {}
        predictor._takes_target = False
        predictor.set_parameters({})
        return predictor

    def set_parameters(self, tensors: Tensors) -> None:
        """Predict with another version's tensors."""
        self._version = {role: value(tensors[name]) for name, role in self._roles.items()}

    def outputs(self, rows: Sequence[StoredRow]) -> Float32:
        """What the model gives for `rows`, [rows, *output]."""
        target = np.zeros((len(rows), *self._spec.target.shape), self._spec.target.dtype)
        return self._run(make_inputs(rows, self._spec, size=len(rows)), target)[0]

    def probabilities(self, rows: Sequence[StoredRow]) -> Float32:
        """[rows, classes], each row summing to 1."""
        return cast(Float32, np.exp(log_softmax(self.outputs(rows))).astype(np.float32))

    def measure(
        self, samples: SampleSource, *, loss_of: Sequence[int], accuracy_of: Sequence[int], stop: Callable[[], bool]
    ) -> Measure | None:
        """Mean loss over the samples `loss_of`, accuracy over their part `accuracy_of`; None if `stop` returned true.

        Raises AgentError ``agent.diverged``, ``data.does_not_fit`` or ``model.broken``.
        """
        counted = frozenset(accuracy_of)
        loss = right = 0.0
        seen = judged = 0
        for start in range(0, len(loss_of), _ROWS):
            if stop():
                return None
            rows = samples.load(loss_of[start : start + _ROWS])
            found = self.measure_rows(rows)
            loss, seen = loss + float(found.losses.sum()), seen + len(rows)
            if found.right is not None:
                chosen = np.fromiter((row.id in counted for row in rows), dtype=bool, count=len(rows))
                judged, right = judged + int(chosen.sum()), right + float(found.right[chosen].sum())
        if not math.isfinite(loss):
            detail = "the model's loss on the device's samples is not finite; the plan's learning rate may be too high"
            raise AgentError("agent.diverged", detail)
        has_accuracy = self._spec.task in TASKS_WITH_ACCURACY
        return Measure(loss / max(seen, 1), right / max(judged, 1) if has_accuracy else None)

    def measure_each(
        self, samples: SampleSource, ids: Sequence[int], *, stop: Callable[[], bool]
    ) -> SampleFigures | None:
        """The figures of each of the samples `ids`, which are not none; None if `stop` returned true before.

        Raises AgentError ``data.does_not_fit`` or ``model.broken``.
        """
        found = []
        for start in range(0, len(ids), _ROWS):
            if stop():
                return None
            found.append(self.measure_rows(samples.load(ids[start : start + _ROWS])))
        right = [one.right for one in found if one.right is not None]
        return SampleFigures(np.concatenate([one.losses for one in found]), np.concatenate(right) if right else None)

    def measure_rows(self, rows: Sequence[StoredRow]) -> SampleFigures:
        """The figures of each of `rows`, of which there is one. Raises AgentError as `measure_each` does."""
        batch = make_batch(rows, self._spec, size=len(rows))
        output, own = self._run(batch.inputs, batch.target)
        return measure(self._spec.task, output, batch.target, padding=self._spec.padding, own=own)

    def _run(self, inputs: Mapping[str, Array], target: Array) -> tuple[Float32, Float32 | None]:
        """The output, and the samples' losses where the model has a loss of its own."""
        samples = {**inputs, self._spec.target.name: target} if self._takes_target else inputs
        given = {name: value(array) for name, array in samples.items()}
        found = self._graph.run(self._outputs, {**given, **self._version, **self._frozen})
        output, *own = (cast(Float32, one.numpy()) for one in found)
        return output, own[0] if own else None
