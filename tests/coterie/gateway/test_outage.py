"""A database that goes is noticed by the first who misses it, and its return by the platform itself."""

import threading

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from coterie.core.away import AWAY, DATABASE, DISK, REDIS, Away
from coterie.core.scheduler_heartbeat import record_pulse
from coterie.gateway import outage
from coterie.gateway.outage import DatabaseWatch, DiskFull, check_database, database_away, probe_database
from coterie.gateway.problems import problem_of

WAIT_S = 10.0


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_asks_at_a_time_whether_a_server_is_back() -> None:
    clock = Clock()
    away = Away(clock)
    assert away.should_try(REDIS)
    away.record_failure(REDIS)
    assert [REDIS in away, away.should_try(REDIS), list(away.sentences())] == [True, False, [REDIS]]
    clock.now = 2.0
    assert [away.should_try(REDIS), away.should_try(REDIS)] == [True, False]
    away.record_answer(REDIS)
    assert (away.should_try(REDIS), away.sentences()) == (True, {})


def test_a_watch_ends_the_outage_when_the_database_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "PROBE_S", 0.0)
    asked, may_answer, answered = threading.Event(), threading.Event(), threading.Event()

    def probe() -> None:
        if not may_answer.is_set():
            asked.set()
            raise OperationalError("gone")
        answered.set()

    watch = DatabaseWatch(probe)
    try:
        watch.suspect()
        watch.suspect()
        assert asked.wait(WAIT_S)
        may_answer.set()
        assert answered.wait(WAIT_S)
        watch.join()
        assert DATABASE not in AWAY
    finally:
        may_answer.set()
        AWAY.record_answer(DATABASE)


@pytest.mark.django_db(transaction=True)
def test_the_database_of_the_tests_answers() -> None:
    probe_database()


@pytest.mark.django_db(transaction=True)
def test_whoever_misses_the_database_is_told_to_come_back() -> None:
    problem = problem_of(OperationalError("server closed the connection unexpectedly"))
    outage.WATCH.join()
    assert (problem.status, problem.code) == (503, "gateway.database_away")
    assert DATABASE not in AWAY, "a probe found it there"


@pytest.mark.django_db
def test_healthz_tells_what_the_platform_does_without() -> None:
    record_pulse(timezone.now())
    AWAY.record_failure(REDIS)
    try:
        told = Client().get("/healthz").json()
    finally:
        AWAY.record_answer(REDIS)
    assert told["status"] == "degraded"
    assert "Redis does not answer" in told["without"][REDIS]


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has a disk of its own")
def test_a_full_disk_is_told_until_there_is_room_also_where_it_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "PROBE_S", 0.0)
    assert database_away().code == "gateway.database_away"
    record_pulse(timezone.now())
    asked = threading.Event()
    watch = DatabaseWatch(asked.set)
    with monkeypatch.context() as full:
        full.setattr(outage, "LEAST_FREE_BYTES", 1 << 62)
        assert database_away().code == "gateway.disk_full"
        watch.suspect()
        while DISK not in AWAY:
            asked.wait(WAIT_S)
        with pytest.raises(DiskFull):
            check_database()
        told = Client().get("/healthz").json()
    watch.join()
    assert (told["status"], list(told["without"])) == ("degraded", [DISK])
    assert DISK not in AWAY
