"""What becomes of background tasks that cannot do their work."""

import logging
from collections.abc import Callable, Iterator

import pytest
from django.db import OperationalError
from pytest_django.fixtures import Settings

from coterie.config.celery import app
from coterie.storage.interface import StorageUnavailable

NAME = "tests.watched_task"


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """A task that finds the file storage away."""
    monkeypatch.setattr("coterie.config.watched_task.HEARTBEAT.beat", lambda: None)

    def read() -> None:
        raise StorageUnavailable(problem="the bucket is not there")

    made = app.task(read, name=NAME)
    yield made
    app.tasks.pop(NAME)


def test_periodic_work_without_its_files_is_done_the_next_time(
    task: Callable[[], None], settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.PERIODIC_TASKS = {NAME: 60.0}
    with caplog.at_level(logging.WARNING):
        task()
    assert "tests.watched_task is done the next time" in caplog.text and "the bucket is not there" in caplog.text


@pytest.mark.parametrize("vendor", ["postgresql", "sqlite"])
def test_periodic_work_without_its_database_is_done_the_next_time(
    vendor: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.PERIODIC_TASKS = {NAME: 60.0}
    monkeypatch.setattr("coterie.config.watched_task.HEARTBEAT.beat", lambda: None)
    monkeypatch.setattr("coterie.config.watched_task.connection.vendor", vendor, raising=False)

    def query() -> None:
        raise OperationalError("connection refused\n\tIs the server running?")

    task = app.task(query, name=NAME)
    try:
        if vendor == "sqlite":  # where a missing column is told by the same error
            with pytest.raises(OperationalError):
                task()
        else:
            task()
            assert "is done the next time: connection refused Is the server running?" in caplog.messages[-1]
    finally:
        app.tasks.pop(NAME)


def test_other_work_without_its_files_fails(task: Callable[[], None], settings: Settings) -> None:
    settings.PERIODIC_TASKS = {}
    with pytest.raises(StorageUnavailable):
        task()
