"""A roll-out's candidate answers what the held model has answered, after it and unseen, to count where they agree."""

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
LOOK_S = 0.25
"""Seconds between two looks at the store."""
CLOSE = 0.05
"""Numbers agree that differ by this share of the larger at most."""


class Answers(NamedTuple):
    """What the held model has answered to one batch."""

    rows: Sequence[Row]
    predictions: Sequence[Prediction | Output]
    took_s: float


class ShadowCandidate:
    """Takes batches that were answered, one at a time: what comes while the candidate runs is passed over."""

    def __init__(self, store: Store, home: Home, *, threads: int) -> None:
        self._store, self._home, self._threads = store, home, threads
        self._changed = threading.Condition()
        self._waiting: tuple[str, Answers] | None = None
        self._stopped = False
        self._rollout = ""
        self._candidate: HeldModel | None = None
        self._looked_at = 0.0
        self.counted = Counter()

    def offer(self, held: HeldModel, answers: Answers) -> None:
        """Compare these answers of `held`, if the candidate has nothing to do."""
        with self._changed:
            candidate = self._candidate
            if candidate is None or self._waiting is not None or candidate.manifest.pair != held.manifest.pair:
                return
            self._waiting = (self._rollout, answers)
            self._changed.notify()

    def run(self) -> None:
        """Follow the store and compare until `close`."""
        while not self._stopped:
            if time.monotonic() - self._looked_at >= LOOK_S:
                self._looked_at = time.monotonic()
                self._look()
            with self._changed:
                if self._waiting is None:
                    self._changed.wait(LOOK_S)
                waiting, candidate = self._waiting, self._candidate
            if waiting is not None and candidate is not None:
                took_s = self._compare(candidate, *waiting)
                with self._changed:
                    self._waiting = None
                    self._changed.wait_for(lambda: self._stopped, took_s)  # it takes half of one thread's time at most

    def close(self) -> None:
        """End `run`."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def write(self) -> None:
        """Add what was counted since to the store."""
        rollout, beside = self.counted.take()
        self._store.shadow.add(rollout, beside)

    def _look(self) -> None:
        """Take the candidate that the store tells of, if it is another one."""
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
        """Seconds that it took."""
        began = time.perf_counter()
        try:
            found = candidate.predict(answers.rows)
        except AgentError as error:  # the trial on held-out samples tells the platform
            log.warning("the candidate of a roll-out cannot answer: %s [%s]", error.detail, error.code)
            return time.perf_counter() - began
        took_s = time.perf_counter() - began
        task = candidate.manifest.model.task
        agreed = sum(agrees(task, one, other) for one, other in zip(answers.predictions, found, strict=True))
        self.counted.add(rollout, len(found), agreed, answers.took_s, took_s)
        return took_s


class Counter:
    """What was compared for one roll-out since it was taken last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin("")

    def add(self, rollout: str, answers: int, agreed: int, champion_s: float, candidate_s: float) -> None:
        """One batch; what was counted for another roll-out is forgotten."""
        with self._lock:
            if rollout != self._rollout:
                self._begin(rollout)
            self._answers += answers
            self._agreed += agreed
            self._champion.add(champion_s)
            self._candidate.add(candidate_s)

    def counted(self) -> int:
        """Answers that were compared since."""
        with self._lock:
            return self._answers

    def take(self) -> tuple[str, ShadowFigures]:
        """The roll-out, and what was counted."""
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
    """Whether two answers to one sample say the same: the class, the labels, the tokens, or about the same numbers."""
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
