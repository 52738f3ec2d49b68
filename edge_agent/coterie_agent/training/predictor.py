"""Prediction, and what it says about a set of samples: loss and accuracy."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np

from coterie_agent.errors import AgentError
from coterie_agent.store.samples import Samples, StoredRow
from coterie_agent.training.batches import Batch, make_batch
from coterie_agent.training.graph import Graph, value
from coterie_wire.bundle import ModelSpec
from coterie_wire.codec import Float32, Tensors

_ROWS = 32


class Measure(NamedTuple):
    """What a model does on samples."""

    loss: float
    """Mean cross-entropy."""
    accuracy: float
    """Share that is classified rightly."""


class Predictor:
    """The predict graph with one version's parameters."""

    def __init__(self, content: bytes, spec: ModelSpec, parameters: Tensors, *, threads: int) -> None:
        """Raises AgentError ``model.contract`` or ``model.broken``."""
        inputs = {tensor.name for tensor in spec.inputs} | {f"param.{tensor.name}" for tensor in spec.parameters}
        self._graph = Graph(content, inputs=frozenset(inputs), outputs=frozenset({"logits"}), threads=threads)
        self._spec = spec
        self.set_parameters(parameters)

    def set_parameters(self, parameters: Tensors) -> None:
        self._parameters = {f"param.{name}": value(tensor) for name, tensor in parameters.items()}

    def probabilities(self, rows: Sequence[StoredRow]) -> Float32:
        """[rows, classes], each row summing to 1."""
        return cast(Float32, np.exp(self._log_probabilities(make_batch(rows, self._spec, size=len(rows)))))

    def measure(
        self, samples: Samples, *, loss_of: Sequence[int], accuracy_of: Sequence[int], stop: Callable[[], bool]
    ) -> Measure | None:
        """Mean loss over the samples `loss_of`, accuracy over their part `accuracy_of`; None if `stop` said so.

        Raises AgentError ``agent.diverged``, ``data.does_not_fit`` or ``model.broken``.
        """
        counted = frozenset(accuracy_of)
        loss = 0.0
        seen = right = judged = 0
        for start in range(0, len(loss_of), _ROWS):
            if stop():
                return None
            rows = samples.load(loss_of[start : start + _ROWS])
            batch = make_batch(rows, self._spec, size=len(rows))
            log_probabilities = self._log_probabilities(batch)
            loss -= float(log_probabilities[np.arange(len(rows)), batch.target].sum(dtype=np.float64))
            hits = log_probabilities.argmax(axis=1) == batch.target
            chosen = np.fromiter((row.id in counted for row in rows), dtype=bool, count=len(rows))
            seen, judged, right = seen + len(rows), judged + int(chosen.sum()), right + int(hits[chosen].sum())
        if not math.isfinite(loss):
            detail = "the model's loss on the device's samples is not finite; the plan's learning rate may be too high"
            raise AgentError("agent.diverged", detail)
        return Measure(loss / max(seen, 1), right / max(judged, 1))

    def _log_probabilities(self, batch: Batch) -> Float32:
        inputs = {name: value(array) for name, array in batch.inputs.items()}
        (output,) = self._graph.run(["logits"], {**inputs, **self._parameters})
        logits = output.numpy().astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # of huge logits: whoever asks sees what is not finite
            logits -= logits.max(axis=1, keepdims=True)
            return cast(Float32, (logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))).astype(np.float32))
