import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from celery import Celery, beat
from celery.schedules import schedule
from django.conf import settings
from kombu import Producer

from coterie.config.beat import Scheduler
from coterie.config.celery import app as platform_app
from coterie.config.embedded_worker import EmbeddedWorker
from coterie.config.steady_time import every, steady_now
from coterie.core.resting import CHANGES, LONGEST_S, RESTS

WAIT_S = 10.0


class SteppingBack(Celery):
    """An app on a machine whose clock can be set back."""

    back = timedelta(0)

    def now(self) -> datetime:
        return super().now() - self.back


@pytest.fixture
def app(request: pytest.FixtureRequest) -> Iterator[SteppingBack]:
    app = SteppingBack("test", set_as_current=False)
    app.conf.update(
        broker_url=f"memory://{request.node.name}",
        broker_transport="coterie.config.event_transport.Transport",
        task_ignore_result=True,
        worker_concurrency=2,
        worker_hijack_root_logger=False,
        worker_enable_remote_control=False,
        task_default_queue=request.node.name,
    )
    app.set_default()  # a pool's threads find a task's app by it
    yield app
    platform_app.set_default()


def test_performs_what_is_sent_and_again_after_a_restart(app: Celery) -> None:
    performed: list[int] = []
    done = threading.Event()

    @app.task(name="count", shared=False)
    def count(number: int) -> None:
        performed.append(number)
        if len(performed) % 50 == 0:
            done.set()

    for life in range(2):
        worker = EmbeddedWorker(app)
        worker.start()
        for number in range(50):  # more than is prefetched: acknowledgements must let the rest through
            app.send_task("count", args=[life * 50 + number])
        assert done.wait(WAIT_S)
        assert worker.stop(within_s=WAIT_S)
        done.clear()
    assert sorted(performed) == list(range(100))


def test_stopping_waits_for_what_runs_but_not_for_ever(app: Celery) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    @app.task(name="long", shared=False)
    def long() -> None:
        begun.set()
        go_on.wait(WAIT_S)
        ended.set()

    worker = EmbeddedWorker(app)
    worker.start()
    app.send_task("long")
    assert begun.wait(WAIT_S)
    assert not worker.stop(within_s=0.1)
    go_on.set()
    assert worker.stop(within_s=WAIT_S)
    assert ended.is_set()


def test_the_clock_sends_what_is_scheduled(app: Celery) -> None:
    ticked = threading.Event()

    @app.task(name="tick", shared=False)
    def tick() -> None:
        ticked.set()

    app.conf.beat_schedule = {"tick": {"task": "tick", "schedule": 0.1}}
    worker = EmbeddedWorker(app)
    worker.start()
    assert ticked.wait(WAIT_S)
    assert worker.stop(within_s=WAIT_S)


def test_the_clock_goes_on_when_the_systems_is_set_back(app: SteppingBack) -> None:
    ticked = threading.Event()

    @app.task(name="tick", shared=False)
    def tick() -> None:
        ticked.set()

    app.conf.beat_schedule = {"tick": {"task": "tick", "schedule": every(0.05)}}
    worker = EmbeddedWorker(app)
    worker.start()
    assert ticked.wait(WAIT_S)
    app.back = timedelta(hours=1)
    for _ in range(3):
        ticked.clear()
        assert ticked.wait(WAIT_S)
    assert worker.stop(within_s=WAIT_S)
    assert {entry["schedule"].nowfun for entry in settings.CELERY_BEAT_SCHEDULE.values()} == {steady_now}


def test_the_clock_looks_when_something_is_due_and_not_over_and_over(app: Celery) -> None:
    done, sent = threading.Event(), []

    class Counting(Scheduler):
        ticks = 0

        def tick(self, *_: object, **__: object) -> float:
            Counting.ticks += 1
            return super().tick()

        def apply_entry(self, entry: beat.ScheduleEntry, producer: Producer | None = None) -> None:
            sent.append(entry.name)
            if len(sent) == 20:
                done.set()

        def record_pulse(self) -> None:
            pass

    app.conf.beat_schedule = {"tick": {"task": "tick", "schedule": every(0.05)}}
    service = beat.Service(app, max_interval=1, scheduler_cls=Counting)
    thread = threading.Thread(target=service.start)
    thread.start()
    assert done.wait(WAIT_S)
    service.stop()
    thread.join(WAIT_S)
    assert Counting.ticks <= 4 * len(sent)


def test_the_clock_starts_again_when_it_ends(app: SteppingBack) -> None:
    ticked, failures = threading.Event(), [MemoryError(), OSError()]

    @app.task(name="tick", shared=False)
    def tick() -> None:
        ticked.set()

    def failing_twice() -> datetime:
        if failures:
            raise failures.pop()
        return datetime.now(UTC)

    app.conf.beat_schedule = {"tick": {"task": "tick", "schedule": schedule(0.05, nowfun=failing_twice)}}
    worker = EmbeddedWorker(app)
    worker.start()
    assert ticked.wait(WAIT_S)
    assert worker.stop(within_s=WAIT_S)
    assert failures == []


def test_the_clock_leaves_out_what_rests_until_something_changes(app: Celery) -> None:
    ticked, other = threading.Event(), threading.Event()

    @app.task(name="rests", shared=False)
    def rests() -> None:
        ticked.set()

    @app.task(name="goes on", shared=False)
    def goes_on() -> None:
        other.set()

    RESTS.begin("rests", LONGEST_S, seen=CHANGES.count)
    app.conf.beat_schedule = {
        name: {"task": name, "schedule": every(seconds)} for name, seconds in (("rests", 0.01), ("goes on", 0.1))
    }
    worker = EmbeddedWorker(app)
    worker.start()
    for _ in range(3):
        assert other.wait(WAIT_S)
        other.clear()
    assert not ticked.is_set()
    CHANGES.note()
    assert ticked.wait(WAIT_S)
    assert worker.stop(within_s=WAIT_S)


def test_a_task_that_returns_seconds_rests_for_so_long() -> None:
    def said(seconds: float | None) -> float | None:
        return seconds

    for name, seconds in (("brief", 0.0), ("long", 5.0), ("silent", None)):
        platform_app.task(name=f"test of rests: {name}", shared=False)(said)(seconds)
    assert [RESTS.is_on(f"test of rests: {name}") for name in ("brief", "long", "silent")] == [False, True, False]
