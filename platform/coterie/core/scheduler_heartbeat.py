"""Heartbeats of the scheduler of periodic work and of its workers: without that work overdue rows are not found."""

from datetime import datetime, timedelta

from django.core.cache import caches

ALIAS = "pulse"
KEY = "periodic-work"
SINCE_KEY = "periodic-work-since"
EVERY_S = 5.0
LATE_AFTER = timedelta(seconds=30)
DONE_KEY = "task-ended"
IDLE_AFTER = timedelta(seconds=60)
NO_WORKER = f"no worker has ended a task for {IDLE_AFTER.seconds} seconds: is a Celery worker running?"


def record_pulse(now: datetime) -> None:
    """Record a heartbeat of the scheduler."""
    if is_late(now):
        caches[ALIAS].set(SINCE_KEY, now, timeout=None)
    caches[ALIAS].set(KEY, now, timeout=None)


def unbroken_since() -> datetime | None:
    """Since when heartbeats have come without a gap: before, the platform may have been down. None: none has come."""
    since: datetime | None = caches[ALIAS].get(SINCE_KEY)
    return since


def is_late(now: datetime) -> bool:
    """Whether heartbeats are missing. If the clock was set back, they count as missing until the next one."""
    latest = caches[ALIAS].get(KEY)
    return latest is None or not -LATE_AFTER <= now - latest <= LATE_AFTER


def record_task(now: datetime) -> None:
    """Record that a worker has ended a task."""
    caches[ALIAS].set(DONE_KEY, now, timeout=None)


def no_worker(now: datetime) -> bool:
    """Whether no worker has ended a task for long, though several are sent each second."""
    latest = caches[ALIAS].get(DONE_KEY)
    return latest is None or not -IDLE_AFTER <= now - latest <= IDLE_AFTER
