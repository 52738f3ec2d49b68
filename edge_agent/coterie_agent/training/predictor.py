"""Prediction, and what it says about a set of samples: loss and accuracy."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np

from coterie_agent.errors import AgentError
from coterie_agent.store.samples import Samples, StoredRow
from coterie_agent.training.batches import Batch, make_batch
from coterie_agent.training.graph import Graph, value
from coterie_agent.training.model import Frozen
from coterie_wire.bundle import ModelSpec
from coterie_wire.codec import Float32, Tensors
from coterie_wire.contract import MEASURED, predict_inputs, version_names
from coterie_wire.measure import log_softmax, measure

_ROWS = 32


class Measure(NamedTuple):
    """What a model does on samples."""

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
        inputs, outputs = frozenset(predict_inputs(spec)), frozenset({spec.output.name})
        self._graph = Graph(content, inputs=inputs, outputs=outputs, threads=threads)
        self._spec, self._roles = spec, version_names(spec)
        self._frozen = {name: value(tensor) for name, tensor in frozen.items()}
        self.set_parameters(received)

    def set_parameters(self, tensors: Tensors) -> None:
        """Predict with another version's tensors."""
        self._version = {role: value(tensors[name]) for name, role in self._roles.items()}

    def outputs(self, rows: Sequence[StoredRow]) -> Float32:
        """What the model gives for `rows`, [rows, *output]."""
        return self._run(make_batch(rows, self._spec, size=len(rows)))

    def probabilities(self, rows: Sequence[StoredRow]) -> Float32:
        """[rows, classes], each row summing to 1."""
        return cast(Float32, np.exp(log_softmax(self.outputs(rows))).astype(np.float32))

    def measure(
        self, samples: Samples, *, loss_of: Sequence[int], accuracy_of: Sequence[int], stop: Callable[[], bool]
    ) -> Measure | None:
        """Mean loss over the samples `loss_of`, accuracy over their part `accuracy_of`; None if `stop` said so.

        Raises AgentError ``agent.diverged``, ``data.does_not_fit`` or ``model.broken``.
        """
        counted = frozenset(accuracy_of)
        loss = right = 0.0
        seen = judged = 0
        for start in range(0, len(loss_of), _ROWS):
            if stop():
                return None
            rows = samples.load(loss_of[start : start + _ROWS])
            batch = make_batch(rows, self._spec, size=len(rows))
            found = measure(self._spec.task, self._run(batch), batch.target, padding=self._spec.padding)
            loss, seen = loss + float(found.losses.sum()), seen + len(rows)
            if found.right is not None:
                chosen = np.fromiter((row.id in counted for row in rows), dtype=bool, count=len(rows))
                judged, right = judged + int(chosen.sum()), right + float(found.right[chosen].sum())
        if not math.isfinite(loss):
            detail = "the model's loss on the device's samples is not finite; the plan's learning rate may be too high"
            raise AgentError("agent.diverged", detail)
        has_accuracy = self._spec.task in MEASURED
        return Measure(loss / max(seen, 1), right / max(judged, 1) if has_accuracy else None)

    def _run(self, batch: Batch) -> Float32:
        inputs = {name: value(array) for name, array in batch.inputs.items()}
        (output,) = self._graph.run([self._spec.output.name], {**inputs, **self._version, **self._frozen})
        return cast(Float32, output.numpy())
