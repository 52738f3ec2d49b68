"""The heartbeat of the scheduler of periodic work: without that work nothing overdue is found."""

from datetime import datetime, timedelta

from django.core.cache import caches

ALIAS = "pulse"
KEY = "periodic-work"
EVERY_S = 5.0
LATE_AFTER = timedelta(seconds=30)


def record_pulse(now: datetime) -> None:
    """Record a heartbeat of the scheduler."""
    caches[ALIAS].set(KEY, now, timeout=None)


def is_late(now: datetime) -> bool:
    """Whether heartbeats are missing. If the clock was set back, they count as missing until the next one."""
    latest = caches[ALIAS].get(KEY)
    return latest is None or not -LATE_AFTER <= now - latest <= LATE_AFTER
