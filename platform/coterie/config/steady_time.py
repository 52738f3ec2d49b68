"""Periodic work by the time of a process, which goes on evenly when the system's clock is set back."""

import time
from datetime import UTC, datetime, timedelta

from celery.schedules import schedule

_BEGAN = datetime.now(UTC) - timedelta(seconds=time.monotonic())


def steady_now() -> datetime:
    """The time of this process: that of its start, and what has passed since, whatever the system's clock says."""
    return _BEGAN + timedelta(seconds=time.monotonic())


def every(seconds: float) -> schedule:
    """Each `seconds`, as they pass."""
    return schedule(timedelta(seconds=seconds), nowfun=steady_now)
