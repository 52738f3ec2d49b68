"""Counts for the drift watch: the model's confidence in its answers, and samples unlike the device's own."""

import threading
from collections.abc import Sequence

import numpy as np
from msgspec import UNSET

from coterie_agent.predicting import HeldModel
from coterie_agent.serving.shadow_candidate import Answers
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import FLOAT_BYTES
from coterie_learning.prediction_counts import FEWEST, PredictionCounts
from coterie_learning.unlabelled import Float64, Usual, usual_of
from coterie_wire.contract import input_size
from coterie_wire.predictions import Prediction

_COMPARED = 256
"""Newest samples of the device with which inputs are compared."""


class ConfidenceCounter:
    """Counts answers of classifiers with a fixed input shape; other models are not counted.

    Answers of a new model before the next `write`, which reads the device's samples, are not counted.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._answering_model: tuple[str, int] | None = None
        """The model that answers, and its number of features."""
        self._model = ""
        self._usual: Usual | None = None
        self._begin("", None)

    def count(self, held: HeldModel, answers: Answers) -> None:
        """Count an answered batch."""
        spec = held.manifest.model
        if spec.task != "classes" or spec.length is not UNSET:
            return
        name = f"{held.manifest.version}{' personal' if held.is_personal else ''} {held.form}"
        doubt = sum(1 - one.probability for one in answers.predictions if isinstance(one, Prediction))
        with self._lock:
            self._answering_model = name, input_size(spec)
            if name != self._model:
                return
            self._samples += len(answers.rows)
            self._doubt += doubt
            if self._usual is not None:
                self._unlike += self._usual.unlike(_features([row.x for row in answers.rows]))

    def write(self) -> None:
        """Store the counts for the agent, once there are enough; begin to count a new model."""
        with self._lock:
            answering = self._answering_model
            enough = self._samples >= FEWEST
            if enough:
                seen = PredictionCounts(self._model, self._samples, round(self._doubt, 6), self._unlike)
                self._begin(self._model, self._usual)
        if enough:
            self._store.predicted.add(seen)
        if answering is not None and answering[0] != self._model:
            name, width = answering
            usual = self._usual_of(width)
            with self._lock:
                self._begin(name, usual)

    def _usual_of(self, width: int) -> Usual | None:
        samples = self._store.samples
        newest = samples.load(samples.newest_ids(up_to=samples.snapshot().last, count=_COMPARED))
        fitting = [row.x for row in newest if len(row.x) == FLOAT_BYTES * width]
        return usual_of(_features(fitting)) if fitting else None

    def _begin(self, model: str, usual: Usual | None) -> None:
        self._model, self._usual = model, usual
        self._samples = self._unlike = 0
        self._doubt = 0.0


def _features(xs: Sequence[bytes]) -> Float64:
    """[n, features]"""
    return np.stack([np.frombuffer(x, np.float32) for x in xs]).astype(np.float64)
