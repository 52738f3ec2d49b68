"""Deadlines, fallbacks, back-pressure and batches, with a model that a test lets answer."""

import asyncio
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from coterie_agent.config import PlatformSettings, ServingSettings
from coterie_agent.errors import AgentError
from coterie_agent.ingest.row import JsonRow
from coterie_agent.predicting import HeldModel
from coterie_agent.serving.current import CurrentModel
from coterie_agent.serving.messages import PredictionRequest
from coterie_agent.serving.platform import Platform
from coterie_agent.serving.queue import HELD_UP_S, PredictionQueue, QueueFull
from coterie_agent.serving.service import PredictionService, deadline_of
from coterie_agent.site import RequestError
from coterie_agent.store.samples import Row
from coterie_wire.fallback import PlatformAnswer
from coterie_wire.predictions import Prediction
from tests.coterie_agent.bundles import SPEC

ROW = Row(bytes(16), 0)


@dataclass
class Model:
    """Stands for a HeldModel; it answers when it is let."""

    version: str = "v1"
    is_personal: bool = False
    form: str = "float32"
    run_s: float = math.inf
    takes_s: float = 0.0
    goes: threading.Event = field(default_factory=threading.Event)
    sizes: list[int] = field(default_factory=list)
    """Of the batches it ran on."""
    failure: AgentError | None = None

    def __post_init__(self) -> None:
        self.manifest = SimpleNamespace(model=SPEC, version=self.version, pair="digits")
        self.running = threading.Event()
        self.thread = ""

    def predict(self, rows: list[Row]) -> list[Prediction]:
        self.running.set()
        self.thread = threading.current_thread().name
        assert self.goes.wait(10)
        time.sleep(self.takes_s)
        self.sizes.append(len(rows))
        if self.failure is not None:
            raise self.failure
        return [Prediction(self.version, int.from_bytes(row.x[:4], "little"), 1.0) for row in rows]


@dataclass
class Current:
    """Stands for a CurrentModel."""

    held: Model | None
    problem: None = None
    swaps: int = 0


@dataclass
class Remote:
    """Stands for a Platform; it answers when it is let, or refuses, or is not to be asked."""

    answer: Future[PlatformAnswer] | None = field(default_factory=Future)
    after_s: float = 0.0
    asked: list[int] = field(default_factory=list)
    """Samples of each request."""

    def ask(self, rows: list[Row], *, remaining_s: float) -> Future[PlatformAnswer] | None:
        self.asked.append(len(rows))
        assert remaining_s > 0
        return self.answer

    def answered(self, count: int = 1) -> "Remote":
        assert self.answer is not None
        self.answer.set_result(PlatformAnswer("c1", "cloud", (Prediction("cloud", 0, 1.0),) * count))
        return self

    def refused(self) -> "Remote":
        assert self.answer is not None
        self.answer.set_exception(AgentError("cloud_answers.busy", "wait"))
        return self


class World:
    """The service on an event loop in a thread of its own, asked from others."""

    def __init__(self, *, platform: "Remote | None" = None, **settings: object) -> None:
        self.model = Model()
        self.current = Current(self.model)
        self.service = PredictionService(
            cast(CurrentModel, self.current),
            msgspec.convert({"deadline_ms": 10_000, **settings}, ServingSettings),
            platform=cast(Platform, platform),
        )
        self._asked: list[Future[Any]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def ask(self, count: int = 1, **more: object) -> Any:
        samples = [{"x": [0.0] * 4}] * count
        return self.ask_with(json.dumps({"samples": samples, **more}).encode())

    def ask_with(self, body: bytes) -> Any:
        asked = asyncio.run_coroutine_threadsafe(self.service.predict(body), self._loop)
        self._asked.append(asked)
        return asked.result(30)

    def close(self) -> None:
        self.model.goes.set()
        wait(self._asked, 30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        self.service.queue.close()

    def hold_up(self) -> threading.Thread:
        """Have the model run on a request until it is let go."""
        asked = threading.Thread(target=self.ask, daemon=True)
        asked.start()
        assert self.model.running.wait(10)
        return asked

    def counted(self) -> dict[str, int]:
        counted = msgspec.structs.asdict(self.service.status().counted)
        return {name: count for name, count in counted.items() if count}


@pytest.fixture
def new_world() -> Iterator[Callable[..., World]]:
    worlds: list[World] = []

    def make(*, platform: Remote | None = None, **settings: object) -> World:
        worlds.append(World(platform=platform, **settings))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def test_an_answer_in_time_is_the_models(new_world: Callable[..., World]) -> None:
    world = new_world()
    world.model.goes.set()
    answer = world.ask(3)
    assert (answer.version, len(answer.predictions), answer.fallback) == ("v1", 3, None)
    assert world.counted() == {"requests": 1, "answered": 1, "samples": 3, "batches": 1}
    assert world.service.status().latency.total == 1


@pytest.mark.parametrize("asks_platform", [False, True])
def test_a_deadline_is_the_requests_else_the_owners_else_one_that_the_platform_can_keep(asks_platform: bool) -> None:
    plain, own = PredictionRequest([JsonRow([0.0])]), ServingSettings(deadline_ms=70.0)
    assert deadline_of(PredictionRequest([JsonRow([0.0])], deadline_ms=20.0), own, asks_platform=asks_platform) == 20.0
    assert deadline_of(plain, own, asks_platform=asks_platform) == 70.0
    usual = deadline_of(plain, ServingSettings(), asks_platform=asks_platform)
    assert usual == (5000.0 if asks_platform else 1000.0)
    assert PlatformSettings().after_ms < usual, "else the platform would never be asked"


def test_a_late_answer_of_no_stream_is_refused_and_leaves_the_queue(new_world: Callable[..., World]) -> None:
    world = new_world()
    first = world.hold_up()
    with pytest.raises(RequestError) as refused:
        world.ask(deadline_ms=20)
    assert (refused.value.status, refused.value.code) == (HTTPStatus.GATEWAY_TIMEOUT, "serve.late")
    world.model.goes.set()
    first.join(10)
    assert world.ask().version == "v1"
    assert world.model.sizes == [1, 1], "the model never ran on the request that was late"
    assert world.counted()["late"] == 1


def test_a_late_answer_of_a_stream_is_its_last_one(new_world: Callable[..., World]) -> None:
    world = new_world()
    world.model.goes.set()
    before = world.ask(stream="camera")
    world.model.goes.clear()
    world.model.running.clear()
    world.hold_up()
    answer = world.ask(stream="camera", deadline_ms=20)
    assert (answer.fallback, answer.predictions) == ("last_answer", before.predictions)
    assert answer.age_s > 0
    for asked in ({"stream": "door"}, {"stream": "camera", "count": 2}):
        with pytest.raises(RequestError, match="no last answer"):
            world.ask(**asked, deadline_ms=20)
    assert world.counted() | {"requests": 0} == {
        "requests": 0, "answered": 1, "last_answers": 1, "late": 2, "samples": 1, "batches": 1
    }  # fmt: skip


def test_an_answer_that_came_too_late_is_the_streams_last_one(new_world: Callable[..., World]) -> None:
    world = new_world()
    with pytest.raises(RequestError):
        world.ask(stream="camera", deadline_ms=20)  # the model runs on it
    world.model.goes.set()
    world.ask()
    world.model.goes.clear()
    world.model.running.clear()
    world.hold_up()
    assert world.ask(stream="camera", deadline_ms=20).fallback == "last_answer"


def test_without_fallback_a_stream_is_refused_too(new_world: Callable[..., World]) -> None:
    world = new_world(fallback="none")
    world.model.goes.set()
    world.ask(stream="camera")
    world.model.goes.clear()
    world.model.running.clear()
    world.hold_up()
    with pytest.raises(RequestError):
        world.ask(stream="camera", deadline_ms=20)


def test_a_full_queue_refuses_at_once(new_world: Callable[..., World]) -> None:
    world = new_world(queue=256)
    world.hold_up()

    def fill() -> None:
        while True:
            try:
                world.ask(256)
            except RequestError as error:  # a request of one sample was in the queue, whose deadline passes
                assert error.code == "serve.busy"
            else:
                return

    waiting = threading.Thread(target=fill, daemon=True)
    waiting.start()
    refused = None
    while refused is None:
        try:
            world.ask(deadline_ms=1)
        except RequestError as error:
            refused = error if error.code != "serve.late" else None  # until the other request has been queued
    assert (refused.status, refused.code) == (HTTPStatus.SERVICE_UNAVAILABLE, "serve.busy")
    assert "256 samples wait" in refused.detail
    world.model.goes.set()
    waiting.join(10)
    assert not waiting.is_alive()
    assert world.ask().version == "v1"


def test_without_a_model_the_reason_is_told(new_world: Callable[..., World]) -> None:
    world = new_world()
    world.current.held = None
    with pytest.raises(AgentError, match="no model is loaded"):
        world.ask()
    assert world.counted() == {"requests": 1, "without_model": 1}


def test_a_model_that_fails_does_not_end_the_service(new_world: Callable[..., World]) -> None:
    world = new_world()
    world.model.goes.set()
    world.model.failure = AgentError("model.broken", "the graph failed")
    with pytest.raises(AgentError, match="the graph failed"):
        world.ask()
    world.model.failure = None
    assert world.ask().version == "v1"


def rows_of(*numbers: int) -> list[Row]:
    return [Row(number.to_bytes(16, "little"), 0) for number in numbers]


@pytest.mark.parametrize("run_s", [0.0, 1.0], ids=["on the loop", "on its thread"])
async def test_what_gathers_is_one_batch_of_each_model(run_s: float) -> None:
    queue, old, new = PredictionQueue(capacity=1000, batch=4), Model("old", run_s=run_s), Model("new", run_s=run_s)
    old.goes.set()
    new.goes.set()
    told: list[object] = []
    asked = [(old, [0]), (old, [1, 2]), (old, [3, 4]), (new, [*range(5, 14)]), (new, [14]), (old, [15])]
    tickets = [queue.ask(cast(HeldModel, model), rows_of(*numbers), told.append) for model, numbers in asked]
    tickets[1].has_left = True
    assert await tickets[1].within(0) is None
    found = [await ticket.within(10) for ticket in tickets if not ticket.has_left]
    assert (old.sizes, new.sizes) == ([3, 1], [9, 1])
    answered = [(one[0].label, [each.index for each in one]) for one in cast(list[list[Prediction]], found)]
    assert answered == [("old", [0]), ("old", [3, 4]), ("new", [*range(5, 14)]), ("new", [14]), ("old", [15])]
    assert told == found, "what left the queue is told nothing"
    assert {old.thread, new.thread} == {threading.current_thread().name if run_s == 0 else "predictions_0"}
    await asyncio.sleep(0)
    assert (queue.samples, queue.batches, queue.runs.histogram().total) == (14, 4, 4)


async def test_a_model_that_held_the_loop_up_runs_on_the_thread_from_then_on() -> None:
    queue, held_up, quick = (
        PredictionQueue(capacity=10, batch=1),
        Model(run_s=0.0, takes_s=2 * HELD_UP_S),
        Model(run_s=0.0),
    )
    threads = []
    for model in (held_up, held_up, quick):
        model.goes.set()
        assert await queue.ask(cast(HeldModel, model), [ROW]).within(10)
        threads.append(model.thread)
    own = threading.current_thread().name
    assert threads == [own, "predictions_0", own]
    queue.close()


async def test_a_queue_has_room_again_when_a_request_has_left_it() -> None:
    queue, model = PredictionQueue(capacity=256, batch=4), Model(run_s=0.0)
    model.goes.set()
    first = queue.ask(cast(HeldModel, model), [ROW] * 256)
    with pytest.raises(QueueFull):
        queue.ask(cast(HeldModel, model), [ROW])
    assert await first.within(10)
    assert await queue.ask(cast(HeldModel, model), [ROW]).within(10)


def test_runs_are_timed_by_what_ran_and_told_once(new_world: Callable[..., World]) -> None:
    world = new_world()
    world.model.goes.set()
    world.ask()
    world.ask()
    other = Model(version="v2", form="int8")
    other.goes.set()
    world.current.held = other
    world.ask()
    taken = world.service.queue.take_latencies()
    assert {(ran.version, ran.form): found.total for ran, found in taken.items()} == {
        ("v1", "float32"): 2,
        ("v2", "int8"): 1,
    }
    assert world.service.queue.take_latencies() == {}


def test_a_late_model_leaves_the_answer_to_the_platform(new_world: Callable[..., World]) -> None:
    remote = Remote().answered(2)
    world = new_world(platform=remote)
    answer = world.ask(2)
    assert (answer.fallback, answer.version, answer.form, answer.personal) == ("platform", "c1", "cloud", False)
    assert (len(answer.predictions), answer.age_s) == (2, 0.0)
    assert remote.asked == [2]
    assert world.counted() == {"requests": 1, "platform_answers": 1}


def test_a_model_that_answers_in_time_sends_nothing(new_world: Callable[..., World]) -> None:
    remote = Remote(after_s=10.0)
    world = new_world(platform=remote)
    world.model.goes.set()
    assert world.ask().fallback is None
    assert remote.asked == []


def test_the_model_answers_if_it_comes_before_the_platform(new_world: Callable[..., World]) -> None:
    remote = Remote()
    world = new_world(platform=remote)
    found: list[Any] = []
    asking = threading.Thread(target=lambda: found.append(world.ask()), daemon=True)
    asking.start()
    assert world.model.running.wait(10)
    world.model.goes.set()
    asking.join(10)
    assert (found[0].fallback, found[0].version) == (None, "v1")
    assert "platform_answers" not in world.counted()


def test_a_last_answer_comes_before_the_platform(new_world: Callable[..., World]) -> None:
    remote = Remote(after_s=10.0).answered()
    world = new_world(platform=remote)
    world.model.goes.set()
    world.ask(stream="camera")
    world.model.goes.clear()
    world.model.running.clear()
    remote.after_s = 0.0
    held = threading.Thread(target=lambda: world.ask(stream="camera"), daemon=True)
    held.start()
    assert world.model.running.wait(10)
    assert world.ask(stream="camera", deadline_ms=20).fallback == "last_answer"
    assert remote.asked == []


@pytest.mark.parametrize("remote", [Remote().refused(), Remote(answer=None), Remote()], ids=["no", "unasked", "late"])
def test_a_platform_that_does_not_answer_in_time_changes_nothing(
    new_world: Callable[..., World], remote: Remote
) -> None:
    world = new_world(platform=remote)
    with pytest.raises(RequestError) as refused:
        world.ask(deadline_ms=200)
    assert refused.value.code == "serve.late"
    assert world.counted() == {"requests": 1, "late": 1} | ({"platform_failures": 1} if remote.answer else {})


def test_the_deadline_leaves_no_time_for_the_platform(new_world: Callable[..., World]) -> None:
    remote = Remote(after_s=10.0).answered()
    world = new_world(platform=remote)
    with pytest.raises(RequestError):
        world.ask(deadline_ms=20)
    assert remote.asked == []


def test_without_a_model_that_runs_the_platform_answers_what_has_no_names(new_world: Callable[..., World]) -> None:
    remote = Remote().answered()
    world = new_world(platform=remote)
    world.model.goes.set()
    world.model.failure = AgentError("model.broken", "it does not run")
    assert world.ask().fallback == "platform"
    world.current.held = None
    assert world.ask().fallback == "platform"
    with pytest.raises(AgentError, match="not known before"):
        world.ask_with(b'{"samples": [{"x": {"pixels": [1.0]}}]}')
    assert world.counted()["platform_answers"] == 2
