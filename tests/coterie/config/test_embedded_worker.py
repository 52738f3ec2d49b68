import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from celery import Celery
from celery.schedules import schedule
from django.conf import settings

from coterie.config.celery import app as platform_app
from coterie.config.embedded_worker import EmbeddedWorker
from coterie.config.steady_time import every, steady_now

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
