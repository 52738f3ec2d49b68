"""The sign of life of the clock that starts periodic work: without it nothing overdue is ever found."""

from datetime import datetime, timedelta

from django.core.cache import caches

ALIAS = "pulse"
KEY = "periodic-work"
EVERY_S = 5.0
LATE_AFTER = timedelta(seconds=30)


def record_pulse(now: datetime) -> None:
    """The clock goes."""
    caches[ALIAS].set(KEY, now, timeout=None)


def is_late(now: datetime) -> bool:
    """Whether the clock stands still, or never went. One that was set back counts as late until the next pulse."""
    latest = caches[ALIAS].get(KEY)
    return latest is None or not -LATE_AFTER <= now - latest <= LATE_AFTER
