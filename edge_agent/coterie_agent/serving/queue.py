"""Requests wait in one bounded queue, and one thread runs the model on as many at once as have gathered."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from coterie_agent.errors import AgentError
from coterie_agent.predicting import HeldModel
from coterie_agent.predictions import Output, Prediction
from coterie_agent.store.samples import Row
from coterie_wire.latency import Durations

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


class PredictionQueue:
    """The queue, and the thread's loop.

    No request waits for others to come: while the model runs those that come gather, and are the next batch.
    """

    def __init__(self, *, capacity: int, batch: int) -> None:
        """`capacity`: samples that may wait; `batch`: samples of one run, unless a single request has more."""
        self._capacity, self._batch = capacity, batch
        self._tickets: deque[Ticket] = deque()
        self._waiting = 0
        self._changed = threading.Condition()
        self._closed = False
        self.runs = Durations()
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
            _predict(batch, self._measured)

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

    def _measured(self, samples: int, took_s: float) -> None:
        self.runs.add(took_s)
        self.samples += samples
        self.batches += 1


def _predict(batch: Sequence[Ticket], measured: Callable[[int, float], None]) -> None:
    rows = [row for ticket in batch for row in ticket.rows]
    began = time.perf_counter()
    try:
        predictions = batch[0].held.predict(rows)
    except AgentError as error:
        for ticket in batch:
            ticket.answer.set_exception(error)
        return
    measured(len(rows), time.perf_counter() - began)
    start = 0
    for ticket in batch:
        ticket.answer.set_result(predictions[start : start + len(ticket.rows)])
        start += len(ticket.rows)
