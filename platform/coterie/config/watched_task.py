"""Counts every background task, and adds its fields to the log lines that it writes."""

import logging
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from celery import Task
from celery.exceptions import Retry
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from redis import RedisError

from coterie.config.monitoring.liveness import LIFE
from coterie.core.log_context import logging_about
from coterie.core.metrics import TASK_SECONDS, TASKS
from coterie.core.one_line import one_line
from coterie.core.postponing import lack_of
from coterie.core.resting import CHANGES, RESTS
from coterie.core.scheduler_heartbeat import EVERY_S, record_task
from coterie.core.tracing import span

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    AnyTask = Task[..., Any]
else:
    AnyTask = Task


class TaskHeartbeat:
    """Lets other processes see, every five seconds at most, that this one ends tasks. Safe to use from several threads.

    Embedded mode's worker is in the server, and rests while nothing happens.
    """

    def __init__(self) -> None:
        self._at_s = float("-inf")

    def beat(self) -> None:
        """A task has ended."""
        if time.monotonic() - self._at_s < EVERY_S:
            return
        self._at_s = time.monotonic()
        try:
            record_task(datetime.now(UTC))
        except RedisError:
            logger.warning("that a task has ended could not be written", exc_info=True)


HEARTBEAT = TaskHeartbeat()
"""Of this process."""


def _why_later(error: Exception) -> str | None:
    """What the work lacks that becomes available by itself; None: it has failed.

    SQLite raises the same errors for mistakes of ours.
    """
    if isinstance(error, (OperationalError, InterfaceError)) and connection.vendor == "postgresql":
        return one_line(error)
    lack = lack_of(error)
    return None if lack is None else lack.sentence


class WatchedTask(AnyTask):
    """Celery's, with its outcome ``done``, ``retried`` or ``failed``."""

    abstract = True

    def __call__(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as Celery declares it
        """Perform the task; its named arguments (a federation, a merge) are fields of its log lines.

        Periodic work that returns seconds rests for so long; one that lacks what becomes available by itself is
        done the next time.
        """
        began_s, outcome, seen = time.monotonic(), "failed", CHANGES.count
        try:
            about = {name: str(value) for name, value in named.items()}
            with self._traced(about), logging_about(task=str(self.name), **about):
                result = super().__call__(*given, **named)
            outcome = "done"
            if isinstance(result, float):
                RESTS.begin(str(self.name), result, seen=seen)
            return result
        except Retry:
            outcome = "retried"
            raise
        except Exception as error:
            why = _why_later(error) if self.name in settings.PERIODIC_TASKS else None
            if why is None:
                raise
            logger.warning("%s is done the next time: %s", self.name, why)
            return None
        finally:
            TASKS.labels(self.name, outcome).inc()
            TASK_SECONDS.labels(self.name).observe(time.monotonic() - began_s)
            LIFE.show("task")
            if not settings.EMBEDDED:
                HEARTBEAT.beat()

    def _traced(self, about: Mapping[str, str]) -> AbstractContextManager[object]:
        """A span, a child of the one that sent the task. The sweeps, of which there are several a second, have
        none: the tasks that they send do.
        """
        sent_by = getattr(self.request, "traceparent", None)
        if sent_by is None and self.name in settings.PERIODIC_TASKS:
            return nullcontext()
        return span(str(self.name).removeprefix("coterie."), kind="consumer", parent=sent_by, **about)
