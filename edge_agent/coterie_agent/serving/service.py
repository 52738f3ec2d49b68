"""What the prediction service's routes do: check, queue, wait until the deadline, fall back, count."""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from coterie_agent.config import ServingSettings
from coterie_agent.errors import AgentError
from coterie_agent.ingest.row import RowCheck
from coterie_agent.predicting import HeldModel
from coterie_agent.serving.beside import CandidateBeside
from coterie_agent.serving.current import CurrentModel
from coterie_agent.serving.doubt import Doubt
from coterie_agent.serving.messages import Answer, Ask
from coterie_agent.serving.openapi import openapi
from coterie_agent.serving.platform import Platform, form_of
from coterie_agent.serving.queue import Busy, PredictionQueue, Predictions
from coterie_agent.site import RequestError, Route, decode
from coterie_agent.store.samples import Row
from coterie_agent.store.serving import Counted, Serving
from coterie_wire.fallback import PlatformAnswer
from coterie_wire.latency import Durations

ALONE_MS, WITH_PLATFORM_MS = 1000.0, 5000.0
"""Within what an answer must come where neither the request nor agent.toml says: of the device alone, and where the
platform may be asked, which takes half a second and more."""
STREAMS = 256
"""Whose last answers are remembered; of more, those of the streams that were answered longest ago are forgotten."""


class LastAnswer(msgspec.Struct, frozen=True):
    """What a stream was last answered."""

    at: float
    """Seconds on the monotonic clock."""
    version: str
    personal: bool
    predictions: Predictions
    form: str


class PredictionService:
    """The routes, and what they count. Each is called from many threads."""

    def __init__(
        self,
        current: CurrentModel,
        settings: ServingSettings,
        beside: CandidateBeside | None = None,
        doubt: Doubt | None = None,
        platform: Platform | None = None,
    ) -> None:
        """`platform`: asked where neither the model nor a last answer answers; None: samples stay on the device."""
        self._current, self._settings, self._platform = current, settings, platform
        self.queue = PredictionQueue(capacity=settings.queue, batch=settings.batch, beside=beside, doubt=doubt)
        self._lock = threading.Lock()
        self._counted = Counted()
        self._latency = Durations()
        self._last: OrderedDict[str, LastAnswer] = OrderedDict()
        self._since = time.time()

    def routes(self) -> dict[str, Route]:
        """By method and path."""
        return {
            "POST /predict": self.predict,
            "GET /status": lambda _: self.status(),
            "GET /openapi.json": lambda _: msgspec.Raw(openapi()),
        }

    def predict(self, body: bytes) -> Answer:
        """``POST /predict``.

        Raises RequestError ``local_api.malformed``, ``serve.busy`` or ``serve.late``, AgentError ``ingest.*``, and why
        there is no model that runs.
        """
        began = time.perf_counter()
        ask = decode(body, Ask)
        self._count(requests=1)
        held = self._current.held
        asks_platform = self._platform is not None and (held is None or self._last_of(ask) is None)
        deadline_ms = deadline_of(ask, self._settings, asks_platform=asks_platform)
        until = began + deadline_ms / 1000
        if held is None:
            return self._without_model(ask, began, until)
        check = RowCheck.of_model(held.manifest.model, labelled=False)
        rows = [check.row(f"sample {index}", row.x, None) for index, row in enumerate(ask.samples)]
        try:
            future = self.queue.ask(held, rows)
        except Busy as busy:
            self._count(busy=1)
            raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, "serve.busy", str(busy)) from busy
        if ask.stream:
            future.add_done_callback(partial(self._remember, ask.stream, held))
        patient_until = self._patient_until(began, until) if asks_platform else until
        try:
            return self._answered(held, future.result(_left(patient_until)), began)
        except TimeoutError:
            found = None if patient_until == until else self._ask_platform(rows, began, until, beside=future)
        except AgentError:
            answer = self._ask_platform(rows, began, until)
            if not isinstance(answer, Answer):
                self._count(without_model=1)
                raise
            return answer
        if isinstance(found, Answer):
            return found
        if found is not None:
            return self._answered(held, found, began)
        future.cancel()  # unless the model runs on it already, whose answer is the stream's last one then
        return self._late(ask, deadline_ms, began)

    def status(self) -> Serving:
        """``GET /status``."""
        held, queue = self._current.held, self.queue
        with self._lock:
            counted, latency = self._counted, self._latency.histogram()
        return Serving(
            at=time.time(),
            since=self._since,
            version=None if held is None else held.manifest.version,
            personal=held is not None and held.is_personal,
            form=None if held is None else held.form,
            problem=self._current.problem,
            counted=msgspec.structs.replace(
                counted, samples=queue.samples, batches=queue.batches, swaps=self._current.swaps
            ),
            latency=latency,
            runs=queue.runs.histogram(),
        )

    def _answered(self, held: HeldModel, predictions: Predictions, began: float) -> Answer:
        took_s = time.perf_counter() - began
        self._count(answered=1, took_s=took_s)
        return Answer(held.manifest.version, held.is_personal, predictions, held.form, round(took_s * 1e6))

    def _patient_until(self, began: float, until: float) -> float:
        """When the model has been waited for alone, before the platform is asked beside it."""
        assert self._platform is not None
        return min(began + self._platform.after_s, until)

    def _ask_platform(
        self, rows: Sequence[Row], began: float, until: float, *, beside: "Future[Predictions] | None" = None
    ) -> Answer | Predictions | None:
        """The platform's answer, or that of the model, `beside`, if it comes first; None: neither comes in time."""
        asked = None if self._platform is None else self._platform.ask(rows, remaining_s=_left(until))
        waited: set[Future[Any]] = {future for future in (beside, asked) if future is not None}
        while waited:
            done, waited = wait(waited, _left(until), FIRST_COMPLETED)
            if not done:
                break
            sound = [future for future in done if future.exception() is None]
            if beside is not None and beside in sound:
                return beside.result()
            if asked is not None and asked in sound:
                return self._answered_by_platform(asked.result(), began)
        if asked is not None:
            self._count(platform_failures=1)
        return None

    def _answered_by_platform(self, answer: PlatformAnswer, began: float) -> Answer:
        self._count(platform_answers=1)
        return Answer(
            answer.version,
            False,
            list(answer.predictions),
            form_of(answer),
            round((time.perf_counter() - began) * 1e6),
            fallback="platform",
        )

    def _without_model(self, ask: Ask, began: float, until: float) -> Answer:
        """The platform's answer, which knows itself what samples its model takes. Raises why there is no model."""
        if self._platform is not None:
            check = RowCheck(None, labelled=False)
            rows = [check.row(f"sample {index}", row.x, None) for index, row in enumerate(ask.samples)]
            answer = self._ask_platform(rows, began, until)
            if isinstance(answer, Answer):
                return answer
        self._count(without_model=1)
        problem = self._current.problem
        if problem is None:
            raise AgentError("serve.starting", "no model is loaded yet; try again in a moment")
        raise AgentError(problem.code, problem.sentence)

    def _late(self, ask: Ask, deadline_ms: float, began: float) -> Answer:
        last = self._last_of(ask)
        if last is None:
            self._count(late=1)
            detail = f"no answer within {deadline_ms:g} ms, and no last answer of the stream to give instead"
            raise RequestError(HTTPStatus.GATEWAY_TIMEOUT, "serve.late", detail)
        self._count(last_answers=1)
        now = time.perf_counter()
        return Answer(
            last.version,
            last.personal,
            last.predictions,
            last.form,
            round((now - began) * 1e6),
            fallback="last_answer",
            age_s=round(time.monotonic() - last.at, 6),
        )

    def _last_of(self, ask: Ask) -> LastAnswer | None:
        """The last answer that can stand for this one: of the same stream, to as many samples."""
        if self._settings.fallback == "none":
            return None
        with self._lock:
            last = self._last.get(ask.stream)
        return last if last is not None and len(last.predictions) == len(ask.samples) else None

    def _remember(self, stream: str, held: HeldModel, future: "Future[Predictions]") -> None:
        if future.cancelled() or future.exception() is not None:
            return
        last = LastAnswer(time.monotonic(), held.manifest.version, held.is_personal, future.result(), held.form)
        with self._lock:
            self._last[stream] = last
            self._last.move_to_end(stream)
            while len(self._last) > STREAMS:
                self._last.popitem(last=False)

    def _count(self, *, took_s: float | None = None, **counts: int) -> None:
        with self._lock:
            before = self._counted
            self._counted = msgspec.structs.replace(
                before, **{name: getattr(before, name) + count for name, count in counts.items()}
            )
            if took_s is not None:
                self._latency.add(took_s)


def deadline_of(ask: Ask, settings: ServingSettings, *, asks_platform: bool) -> float:
    """Milliseconds: what the request says, else agent.toml, else what is usual."""
    if ask.deadline_ms is not None:
        return ask.deadline_ms
    if settings.deadline_ms is not None:
        return settings.deadline_ms
    return WITH_PLATFORM_MS if asks_platform else ALONE_MS


def _left(until: float) -> float:
    """Seconds until then, on the clock of performance counters."""
    return max(0.0, until - time.perf_counter())
