"""A roll-out's shadow candidate predicts what the held model has answered, to count where they agree."""

import logging
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.predicting import HeldModel, load_candidate
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row
from coterie_agent.store.shadow import ShadowFigures
from coterie_wire.errors import WireError
from coterie_wire.latency import Durations
from coterie_wire.predictions import Output, Prediction

log = logging.getLogger(__name__)
POLL_S = 0.25
"""Seconds between two polls of the store."""
CLOSE = 0.05
"""Largest relative difference of numbers that agree."""


class Answers(NamedTuple):
    """The held model's answers to one batch."""

    rows: Sequence[Row]
    predictions: Sequence[Prediction | Output]
    took_s: float


class ShadowCandidate:
    """Compares answered batches, one at a time; batches that come while the candidate runs are skipped."""

    def __init__(self, store: Store, home: Home, *, threads: int) -> None:
        self._store, self._home, self._threads = store, home, threads
        self._changed = threading.Condition()
        self._waiting: tuple[str, Answers] | None = None
        self._stopped = False
        self._rollout = ""
        self._candidate: HeldModel | None = None
        self._polled_at = 0.0
        self.counted = Counter()

    def offer(self, held: HeldModel, answers: Answers) -> None:
        """Compare these answers of `held`, if the candidate is idle."""
        with self._changed:
            candidate = self._candidate
            if candidate is None or self._waiting is not None or candidate.manifest.pair != held.manifest.pair:
                return
            self._waiting = (self._rollout, answers)
            self._changed.notify()

    def run(self) -> None:
        """Follow the store and compare until `close`."""
        while not self._stopped:
            if time.monotonic() - self._polled_at >= POLL_S:
                self._polled_at = time.monotonic()
                self._refresh()
            with self._changed:
                if self._waiting is None:
                    self._changed.wait(POLL_S)
                waiting, candidate = self._waiting, self._candidate
            if waiting is not None and candidate is not None:
                took_s = self._compare(candidate, *waiting)
                with self._changed:
                    self._waiting = None
                    self._changed.wait_for(lambda: self._stopped, took_s)  # it uses at most half of one core

    def close(self) -> None:
        """End `run`."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def write(self) -> None:
        """Add the counts since the last call to the store."""
        rollout, beside = self.counted.take()
        self._store.shadow.add(rollout, beside)

    def _refresh(self) -> None:
        """Load the candidate of the store, if it has changed."""
        shadow = self._store.shadow.load()
        rollout = "" if shadow is None else shadow.rollout
        if rollout == self._rollout:
            return
        candidate = None
        if shadow is not None:
            try:
                candidate = load_candidate(self._store, self._home, shadow.candidate, threads=self._threads)
            except (AgentError, WireError) as error:
                log.warning("the candidate of a roll-out cannot answer: %s [%s]", error.detail, error.code)
        with self._changed:
            self._rollout, self._candidate = rollout, candidate

    def _compare(self, candidate: HeldModel, rollout: str, answers: Answers) -> float:
        """Compare, and count the result; the seconds that it took."""
        began = time.perf_counter()
        try:
            found = candidate.predict(answers.rows)
        except AgentError as error:  # the trial on held-out samples reports it to the platform
            log.warning("the candidate of a roll-out cannot answer: %s [%s]", error.detail, error.code)
            return time.perf_counter() - began
        took_s = time.perf_counter() - began
        task = candidate.manifest.model.task
        agreed = sum(agrees(task, one, other) for one, other in zip(answers.predictions, found, strict=True))
        self.counted.add(rollout, len(found), agreed, answers.took_s, took_s)
        return took_s


class Counter:
    """Counts of one roll-out's comparisons since the last `take`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin("")

    def add(self, rollout: str, answers: int, agreed: int, champion_s: float, candidate_s: float) -> None:
        """Add a batch; counts of another roll-out are dropped."""
        with self._lock:
            if rollout != self._rollout:
                self._begin(rollout)
            self._answers += answers
            self._agreed += agreed
            self._champion.add(champion_s)
            self._candidate.add(candidate_s)

    def counted(self) -> int:
        """Answers compared since the last `take`."""
        with self._lock:
            return self._answers

    def take(self) -> tuple[str, ShadowFigures]:
        """The roll-out and its counts, which start again at zero."""
        with self._lock:
            found = ShadowFigures(self._answers, self._agreed, self._champion.histogram(), self._candidate.histogram())
            rollout = self._rollout
            self._begin(rollout)
            return rollout, found

    def _begin(self, rollout: str) -> None:
        self._rollout = rollout
        self._answers = self._agreed = 0
        self._champion, self._candidate = Durations(), Durations()


def agrees(task: str, one: Prediction | Output, other: Prediction | Output) -> bool:
    """Whether two answers to one sample agree: in the class, the labels, the tokens, or about in the numbers."""
    if isinstance(one, Prediction) or isinstance(other, Prediction):
        return isinstance(one, Prediction) and isinstance(other, Prediction) and one.index == other.index
    first, second = np.asarray(one.output), np.asarray(other.output)
    if first.shape != second.shape:
        return False
    match task:
        case "labels":
            return bool(((first >= 0.5) == (second >= 0.5)).all())
        case "tokens":
            return bool((first == second).all())
        case _:
            return bool(np.isclose(first, second, rtol=CLOSE, atol=1e-6).all())
