"""The prediction service's routes: check, queue, wait until the deadline, fall back, count."""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec

from coterie_agent.config import ServingSettings
from coterie_agent.errors import AgentError
from coterie_agent.ingest.row import RowCheck
from coterie_agent.predicting import HeldModel
from coterie_agent.serving.confidence import ConfidenceCounter
from coterie_agent.serving.current import CurrentModel
from coterie_agent.serving.listener import Route
from coterie_agent.serving.messages import PredictionAnswer, PredictionRequest
from coterie_agent.serving.openapi import openapi
from coterie_agent.serving.platform import Platform, form_of
from coterie_agent.serving.queue import PredictionQueue, Predictions, QueuedRequest, QueueFull
from coterie_agent.serving.shadow_candidate import ShadowCandidate
from coterie_agent.site import RequestError, decode
from coterie_agent.store.samples import Row
from coterie_agent.store.serving import Counted, Serving
from coterie_wire.fallback import PlatformAnswer
from coterie_wire.latency import Durations

ALONE_MS, WITH_PLATFORM_MS = 1000.0, 5000.0
"""Default deadlines: of the device alone, and where the platform may be asked, which takes half a second or more."""
STREAMS = 256
"""Streams whose last answers are remembered; of more, the least recently answered are dropped."""


class LastAnswer(msgspec.Struct, frozen=True):
    """The last answer to a stream."""

    at: float
    """Seconds on the monotonic clock."""
    version: str
    personal: bool
    predictions: Predictions
    form: str


class PredictionService:
    """The routes and their counters. They run on one event loop; `status` is called from other threads too."""

    def __init__(
        self,
        current: CurrentModel,
        settings: ServingSettings,
        beside: ShadowCandidate | None = None,
        doubt: ConfidenceCounter | None = None,
        platform: Platform | None = None,
    ) -> None:
        """`platform`: asked where there is neither a prediction nor a last answer; None: samples stay on the device."""
        self._current, self._settings, self._platform = current, settings, platform
        self.queue = PredictionQueue(capacity=settings.queue, batch=settings.batch, beside=beside, doubt=doubt)
        self._lock = threading.Lock()
        self._counted = Counted()
        self._latency = Durations()
        self._last: OrderedDict[str, LastAnswer] = OrderedDict()
        self._since = time.time()

    def routes(self) -> dict[str, Route]:
        """The routes, by method and path."""
        return {
            "POST /predict": self.predict,
            "GET /status": self._status,
            "GET /openapi.json": self._openapi,
        }

    async def predict(self, body: bytes) -> PredictionAnswer:
        """``POST /predict``.

        Raises RequestError ``local_api.malformed``, ``serve.busy`` or ``serve.late``, AgentError ``ingest.*``, and the
        reason why no model runs.
        """
        began = time.perf_counter()
        ask = decode(body, PredictionRequest)
        self._count(requests=1)
        held = self._current.held
        asks_platform = self._platform is not None and (held is None or self._last_of(ask) is None)
        deadline_ms = deadline_of(ask, self._settings, asks_platform=asks_platform)
        until = began + deadline_ms / 1000
        if held is None:
            return await self._without_model(ask, began, until)
        check = RowCheck.of_model(held.manifest.model, labelled=False)
        rows = [check.row(f"sample {index}", row.x, None) for index, row in enumerate(ask.samples)]
        try:
            ticket = self.queue.ask(held, rows, partial(self._remember, ask.stream, held) if ask.stream else None)
        except QueueFull as busy:
            self._count(busy=1)
            raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, "serve.busy", str(busy)) from busy
        patient_until = self._patient_until(began, until) if asks_platform else until
        found: Predictions | AgentError | PredictionAnswer | None = await ticket.within(_remaining_s(patient_until))
        if found is None and patient_until < until:
            found = await self._ask_platform(rows, began, until, beside=ticket)
        elif isinstance(found, AgentError):
            found = await self._ask_platform(rows, began, until) or found
        match found:
            case PredictionAnswer():
                return found
            case AgentError():
                self._count(without_model=1)
                raise found
            case None:
                # If the model runs on it already, its answer still becomes the stream's last one.
                ticket.has_left = True
                return self._late(ask, deadline_ms, began)
        return self._answered(held, found, began)

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

    async def _status(self, _body: bytes) -> Serving:
        return self.status()

    async def _openapi(self, _body: bytes) -> msgspec.Raw:
        return msgspec.Raw(openapi())

    def _answered(self, held: HeldModel, predictions: Predictions, began: float) -> PredictionAnswer:
        took_s = time.perf_counter() - began
        self._count(answered=1, took_s=took_s)
        return PredictionAnswer(held.manifest.version, held.is_personal, predictions, held.form, round(took_s * 1e6))

    def _patient_until(self, began: float, until: float) -> float:
        """Time until which only the model is awaited, before the platform is asked in parallel."""
        assert self._platform is not None
        return min(began + self._platform.after_s, until)

    async def _ask_platform(
        self, rows: Sequence[Row], began: float, until: float, *, beside: QueuedRequest | None = None
    ) -> PredictionAnswer | Predictions | None:
        """The platform's answer, or the model's to `beside` if that comes first; None: neither comes in time."""
        asked = None if self._platform is None else self._platform.ask(rows, remaining_s=_remaining_s(until))
        theirs = None if asked is None else asyncio.wrap_future(asked)
        own = None if beside is None else asyncio.ensure_future(beside.within(_remaining_s(until)))
        waited: set[asyncio.Future[Any]] = {future for future in (own, theirs) if future is not None}
        try:
            while waited:
                done, waited = await asyncio.wait(
                    waited, timeout=_remaining_s(until), return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    break
                is_sound = theirs is not None and theirs in done and theirs.exception() is None
                if own is not None and own in done and isinstance(predictions := own.result(), list):
                    return predictions
                if theirs is not None and is_sound:
                    return self._answered_by_platform(theirs.result(), began)
        finally:
            for future in waited:
                future.cancel()
        if asked is not None:
            self._count(platform_failures=1)
        return None

    def _answered_by_platform(self, answer: PlatformAnswer, began: float) -> PredictionAnswer:
        self._count(platform_answers=1)
        return PredictionAnswer(
            answer.version,
            False,
            list(answer.predictions),
            form_of(answer),
            round((time.perf_counter() - began) * 1e6),
            fallback="platform",
        )

    async def _without_model(self, ask: PredictionRequest, began: float, until: float) -> PredictionAnswer:
        """The platform's answer, as the platform checks samples itself. Raises the reason why there is no model."""
        if self._platform is not None:
            check = RowCheck(None, labelled=False)
            rows = [check.row(f"sample {index}", row.x, None) for index, row in enumerate(ask.samples)]
            answer = await self._ask_platform(rows, began, until)
            if isinstance(answer, PredictionAnswer):
                return answer
        self._count(without_model=1)
        problem = self._current.problem
        if problem is None:
            raise AgentError("serve.starting", "no model is loaded yet; try again in a moment")
        raise AgentError(problem.code, problem.sentence)

    def _late(self, ask: PredictionRequest, deadline_ms: float, began: float) -> PredictionAnswer:
        last = self._last_of(ask)
        if last is None:
            self._count(late=1)
            detail = f"no answer within {deadline_ms:g} ms, and no last answer of the stream to give instead"
            raise RequestError(HTTPStatus.GATEWAY_TIMEOUT, "serve.late", detail)
        self._count(last_answers=1)
        now = time.perf_counter()
        return PredictionAnswer(
            last.version,
            last.personal,
            last.predictions,
            last.form,
            round((now - began) * 1e6),
            fallback="last_answer",
            age_s=round(time.monotonic() - last.at, 6),
        )

    def _last_of(self, ask: PredictionRequest) -> LastAnswer | None:
        """The last answer that can replace this one: of the same stream, to as many samples; None: there is none."""
        if self._settings.fallback == "none":
            return None
        last = self._last.get(ask.stream)
        return last if last is not None and len(last.predictions) == len(ask.samples) else None

    def _remember(self, stream: str, held: HeldModel, predictions: Predictions) -> None:
        self._last[stream] = LastAnswer(
            time.monotonic(), held.manifest.version, held.is_personal, predictions, held.form
        )
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


def deadline_of(ask: PredictionRequest, settings: ServingSettings, *, asks_platform: bool) -> float:
    """The deadline in milliseconds: by the request, else by agent.toml, else the default."""
    if ask.deadline_ms is not None:
        return ask.deadline_ms
    if settings.deadline_ms is not None:
        return settings.deadline_ms
    return WITH_PLATFORM_MS if asks_platform else ALONE_MS


def _remaining_s(until: float) -> float:
    """Seconds left until then, on the clock of `time.perf_counter`."""
    return max(0.0, until - time.perf_counter())
