"""Requests wait in one bounded queue, and the model runs on all that have gathered as one batch."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from coterie_agent.errors import AgentError
from coterie_agent.predicting import HeldModel
from coterie_agent.serving.confidence import ConfidenceCounter
from coterie_agent.serving.shadow_candidate import Answers, ShadowCandidate
from coterie_agent.store.samples import Row
from coterie_wire.latency import Durations, Histogram
from coterie_wire.predictions import Output, Prediction

Predictions = list[Prediction | Output]
QUICK_S = 0.002
"""A run within this time delays the event loop less than a hand-over to a thread would."""
HELD_UP_S = 0.02
"""A run expected to be quick that takes longer than this means that the processor is throttled or busy."""


class QueueFull(Exception):
    """Raised where too many samples wait already."""

    def __init__(self, waiting: int) -> None:
        super().__init__(f"{waiting} samples wait already; try again in a moment, or ask more seldom")


class QueuedRequest:
    """A request in the queue."""

    def __init__(self, held: HeldModel, rows: Sequence[Row], then: "Callable[[Predictions], None] | None") -> None:
        """`then` is called with the predictions, even if they are too late for `within`."""
        self.held, self.rows = held, rows
        """The model against which the rows were checked, which answers them even if another is loaded meanwhile."""
        self._then = then
        self._found: Predictions | AgentError | None = None
        self._waiter: asyncio.Future[Predictions | AgentError | None] | None = None
        self.has_left = False
        """Whether its caller does not wait for it any longer."""

    async def within(self, left_s: float) -> "Predictions | AgentError | None":
        """The predictions, or the model's error; None: neither comes within `left_s` seconds."""
        if self._found is None and left_s > 0:
            try:
                await asyncio.sleep(0)  # a quick run is over after this, and needs no timer
            except asyncio.CancelledError:
                self.has_left = True
                raise
        if self._found is not None or left_s <= 0:
            return self._found
        loop = asyncio.get_running_loop()
        self._waiter = waiter = loop.create_future()
        timer = loop.call_later(left_s, _give_up, waiter)
        try:
            found: Predictions | AgentError | None = await waiter
        except asyncio.CancelledError:
            self.has_left = True
            raise
        finally:
            timer.cancel()
        return found

    def give(self, found: "Predictions | AgentError") -> None:
        """Set the result of the model."""
        self._found = found
        if self._then is not None and not isinstance(found, AgentError):
            self._then(found)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(found)


def _give_up(waiter: "asyncio.Future[Predictions | AgentError | None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


class Ran(NamedTuple):
    """Identifies the model of a run."""

    pair: str
    version: str
    form: str


class PredictionQueue:
    """The queue and the runs of the model, which are on the event loop's thread if they are quick.

    No request waits for later ones: those queued since the last run are the next batch.
    """

    def __init__(
        self,
        *,
        capacity: int,
        batch: int,
        beside: ShadowCandidate | None = None,
        doubt: ConfidenceCounter | None = None,
    ) -> None:
        """`capacity`: samples that may wait; `batch`: samples of one run, unless a single request has more.

        `beside` and `doubt` are given all answers.
        """
        self._capacity, self._batch = capacity, batch
        self._beside, self._doubt = beside, doubt
        self._tickets: deque[QueuedRequest] = deque()
        self._waiting = 0
        self._is_running = False
        self._slow: HeldModel | None = None
        """A model that was quick when it was loaded, and has delayed the loop since."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="predictions")
        """For runs that are not quick; started with the first of them."""
        self._lock = threading.Lock()
        self.runs = Durations()
        self._by_model: dict[Ran, Durations] = {}
        self.samples = self.batches = 0

    def ask(
        self, held: HeldModel, rows: Sequence[Row], then: Callable[[Predictions], None] | None = None
    ) -> QueuedRequest:
        """Queue `rows` on the running event loop. Raises QueueFull."""
        if self._waiting + len(rows) > self._capacity:
            raise QueueFull(self._waiting)
        ticket = QueuedRequest(held, rows, then)
        self._tickets.append(ticket)
        self._waiting += len(rows)
        if not self._is_running:
            self._is_running = True
            loop = asyncio.get_running_loop()
            loop.call_soon(self._run, loop)
        return ticket

    def take_latencies(self) -> Mapping[Ran, Histogram]:
        """Durations of runs since the last call, by model. Called from another thread."""
        with self._lock:
            taken, self._by_model = self._by_model, {}
        return {ran: durations.histogram() for ran, durations in taken.items()}

    def close(self) -> None:
        """Start no more runs on the thread, which ends with its current one."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the next batch, until none waits."""
        batch = self._next_batch()
        if not batch:
            self._is_running = False
            return
        held, rows = batch[0].held, [row for ticket in batch for row in ticket.rows]
        if held.run_s * len(rows) <= QUICK_S and held is not self._slow:
            found = _predict(held, rows)
            if isinstance(found, Answers) and found.took_s > HELD_UP_S:
                self._slow = held
            self._answer(loop, batch, found)
            return
        done = self._thread.submit(_predict, held, rows)
        done.add_done_callback(lambda done: loop.call_soon_threadsafe(self._answer, loop, batch, done.result()))

    def _next_batch(self) -> list[QueuedRequest]:
        """The oldest requests for one model; empty where none waits."""
        batch: list[QueuedRequest] = []
        size = 0
        while self._tickets:
            ticket = self._tickets[0]
            if batch and (ticket.held is not batch[0].held or size + len(ticket.rows) > self._batch):
                break
            self._tickets.popleft()
            self._waiting -= len(ticket.rows)
            if not ticket.has_left:
                batch.append(ticket)
                size += len(ticket.rows)
        return batch

    def _answer(
        self, loop: asyncio.AbstractEventLoop, batch: Sequence[QueuedRequest], found: "Answers | AgentError"
    ) -> None:
        """Set the results of `batch`, and continue with the next."""
        start = 0
        for ticket in batch:
            end = start + len(ticket.rows)
            ticket.give(found if isinstance(found, AgentError) else list(found.predictions[start:end]))
            start = end
        if not isinstance(found, AgentError):
            loop.call_soon(self._report, batch[0].held, found)  # after the answers are sent
        loop.call_soon(self._run, loop)

    def _report(self, held: HeldModel, found: Answers) -> None:
        self._measure(held, found)
        if self._beside is not None:
            self._beside.offer(held, found)
        if self._doubt is not None:
            self._doubt.count(held, found)

    def _measure(self, held: HeldModel, found: Answers) -> None:
        ran = Ran(held.manifest.pair, held.manifest.version, held.form)
        with self._lock:
            self._by_model.setdefault(ran, Durations()).add(found.took_s)
        self.runs.add(found.took_s)
        self.samples += len(found.rows)
        self.batches += 1


def _predict(held: HeldModel, rows: Sequence[Row]) -> Answers | AgentError:
    began = time.perf_counter()
    try:
        predictions = held.predict(rows)
    except AgentError as error:
        return error
    return Answers(rows, predictions, time.perf_counter() - began)
