"""How sure the model was of its answers, and how many samples were unlike the device's own, for the agent to read."""

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
from coterie_wire.contract import features
from coterie_wire.predictions import Prediction

_COMPARED = 256
"""The device's newest samples at most, by which inputs are judged."""


class ConfidenceCounter:
    """Counts what a classifier of samples of one shape answers; of other models nothing.

    What is answered before `write` has looked at the device's samples for a model is passed over: nobody waits for it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._wanted: tuple[str, int] | None = None
        """The model that answers, and its features."""
        self._model = ""
        self._usual: Usual | None = None
        self._begin("", None)

    def count(self, held: HeldModel, answers: Answers) -> None:
        """One batch that was answered."""
        spec = held.manifest.model
        if spec.task != "classes" or spec.length is not UNSET:
            return
        name = f"{held.manifest.version}{' personal' if held.is_personal else ''} {held.form}"
        doubt = sum(1 - one.probability for one in answers.predictions if isinstance(one, Prediction))
        with self._lock:
            self._wanted = name, features(spec)
            if name != self._model:
                return
            self._samples += len(answers.rows)
            self._doubt += doubt
            if self._usual is not None:
                self._unlike += self._usual.unlike(_features([row.x for row in answers.rows]))

    def write(self) -> None:
        """Hand the agent what was counted, once it is enough to say something; begin with a model that is new."""
        with self._lock:
            wanted = self._wanted
            enough = self._samples >= FEWEST
            if enough:
                seen = PredictionCounts(self._model, self._samples, round(self._doubt, 6), self._unlike)
                self._begin(self._model, self._usual)
        if enough:
            self._store.predicted.add(seen)
        if wanted is not None and wanted[0] != self._model:
            name, width = wanted
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
