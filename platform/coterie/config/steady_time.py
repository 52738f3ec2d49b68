"""Schedules by the time of a process, which is not affected when the system's clock is set back."""

import time
from datetime import UTC, datetime, timedelta

from celery.schedules import schedule

_BEGAN = datetime.now(UTC) - timedelta(seconds=time.monotonic())


def steady_now() -> datetime:
    """The time of this process: that of its start, plus the time elapsed since, whatever the system's clock says."""
    return _BEGAN + timedelta(seconds=time.monotonic())


def every(seconds: float) -> schedule:
    """Every so many elapsed `seconds`."""
    return schedule(timedelta(seconds=seconds), nowfun=steady_now)
