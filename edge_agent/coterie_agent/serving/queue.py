"""Requests wait in one bounded queue, and one thread runs the model on as many at once as have gathered."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

from coterie_agent.errors import AgentError
from coterie_agent.predicting import HeldModel
from coterie_agent.serving.beside import Answers, CandidateBeside
from coterie_agent.serving.doubt import Doubt
from coterie_agent.store.samples import Row
from coterie_wire.latency import Durations, Histogram
from coterie_wire.predictions import Output, Prediction

Predictions = list[Prediction | Output]


class Busy(Exception):
    """Too many samples wait already."""

    def __init__(self, waiting: int) -> None:
        super().__init__(f"{waiting} samples wait already; try again in a moment, or ask more seldom")


@dataclass(frozen=True)
class Ticket:
    """A request in the queue."""

    held: HeldModel
    """The model that the rows were checked against, which answers them whatever comes meanwhile."""
    rows: Sequence[Row]
    answer: "Future[Predictions]" = field(default_factory=Future)


class Ran(NamedTuple):
    """What was run."""

    pair: str
    version: str
    form: str


class PredictionQueue:
    """The queue, and the thread's loop.

    No request waits for others to come: while the model runs those that come gather, and are the next batch.
    """

    def __init__(
        self, *, capacity: int, batch: int, beside: CandidateBeside | None = None, doubt: Doubt | None = None
    ) -> None:
        """`capacity`: samples that may wait; `batch`: samples of one run, unless a single request has more.

        `beside` and `doubt` are told what was answered.
        """
        self._capacity, self._batch = capacity, batch
        self._beside, self._doubt = beside, doubt
        self._tickets: deque[Ticket] = deque()
        self._waiting = 0
        self._changed = threading.Condition()
        self._closed = False
        self.runs = Durations()
        self._by_model: dict[Ran, Durations] = {}
        self.samples = self.batches = 0

    def ask(self, held: HeldModel, rows: Sequence[Row]) -> "Future[Predictions]":
        """The predictions of `rows` in time; cancel it to leave the queue. Raises Busy."""
        ticket = Ticket(held, rows)
        with self._changed:
            if self._waiting + len(rows) > self._capacity:
                raise Busy(self._waiting)
            self._tickets.append(ticket)
            self._waiting += len(rows)
            self._changed.notify()
        return ticket.answer

    def run(self) -> None:
        """Predict until `close`."""
        while batch := self._next_batch():
            answers = _predict(batch, self._measured)
            if answers is not None and self._beside is not None:
                self._beside.offer(batch[0].held, answers)
            if answers is not None and self._doubt is not None:
                self._doubt.count(batch[0].held, answers)

    def close(self) -> None:
        """End `run` when the model has run on what waits."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _next_batch(self) -> list[Ticket]:
        """The oldest requests for one model; empty once the queue is closed and all is done."""
        with self._changed:
            while True:
                batch: list[Ticket] = []
                size = 0
                while self._tickets:
                    ticket = self._tickets[0]
                    if batch and (ticket.held is not batch[0].held or size + len(ticket.rows) > self._batch):
                        break
                    self._tickets.popleft()
                    self._waiting -= len(ticket.rows)
                    if ticket.answer.set_running_or_notify_cancel():
                        batch.append(ticket)
                        size += len(ticket.rows)
                if batch or self._closed:
                    return batch
                self._changed.wait()

    def take_latencies(self) -> Mapping[Ran, Histogram]:
        """How long runs took since this was asked last, by what was run."""
        with self._changed:
            taken, self._by_model = self._by_model, {}
        return {ran: durations.histogram() for ran, durations in taken.items()}

    def _measured(self, held: HeldModel, samples: int, took_s: float) -> None:
        ran = Ran(held.manifest.pair, held.manifest.version, held.form)
        with self._changed:
            self._by_model.setdefault(ran, Durations()).add(took_s)
        self.runs.add(took_s)
        self.samples += samples
        self.batches += 1


def _predict(batch: Sequence[Ticket], measured: Callable[[HeldModel, int, float], None]) -> Answers | None:
    """What was answered; None: the model failed."""
    rows = [row for ticket in batch for row in ticket.rows]
    began = time.perf_counter()
    try:
        predictions = batch[0].held.predict(rows)
    except AgentError as error:
        for ticket in batch:
            ticket.answer.set_exception(error)
        return None
    took_s = time.perf_counter() - began
    measured(batch[0].held, len(rows), took_s)
    start = 0
    for ticket in batch:
        ticket.answer.set_result(predictions[start : start + len(ticket.rows)])
        start += len(ticket.rows)
    return Answers(rows, predictions, took_s)
