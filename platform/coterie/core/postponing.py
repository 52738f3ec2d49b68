"""Work that lacks a resource which becomes available by itself is postponed: neither a worker nor an input is to blame.

Such are a full disk and a file storage that does not answer. Each pause is twice the one before.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import models
from django.db.models import F, Q

from coterie.core.disk import is_full
from coterie.core.errors import CoterieError
from coterie.core.lease import SKEW
from coterie_wire.conditions import Reason

DISK_FULL = "child.disk_full"
STORAGE_AWAY = "storage.unavailable"
FILES_AWAY = "child.files_away"
"""The same, told by a job in a child process, which reads files itself."""
FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=5)


class Postponed(models.Model):
    """A row whose work waits for a missing resource."""

    postponed_until = models.DateTimeField(null=True, blank=True)
    """No worker takes it before: a resource is missing, which does not count as a failed attempt."""
    postponements = models.PositiveIntegerField(default=0, db_default=0)
    """How often it was postponed; each pause is twice the one before."""

    class Meta:
        abstract = True


def lack_of(error: Exception) -> Reason | None:
    """The resource that the machine or the file storage lacked, independent of input and worker; None: none was
    missing.
    """
    if isinstance(error, CoterieError) and error.code in (DISK_FULL, STORAGE_AWAY):
        return error.reason()
    if isinstance(error, CoterieError) and error.code == FILES_AWAY:
        return Reason(STORAGE_AWAY, error.reason().sentence)
    return Reason(DISK_FULL, f"The disk is full: {error}.") if is_full(error) else None


def pause_after(postponements: int) -> timedelta:
    """The pause of work that was postponed so often before."""
    return min(FIRST_PAUSE * (1 << min(postponements, 10)), LONGEST_PAUSE)


def postponed(pause: timedelta, now: datetime) -> Mapping[str, object]:
    """The columns of a row that is `Postponed` by `pause`."""
    return {"postponed_until": now + pause, "postponements": F("postponements") + 1}


def is_due(now: datetime) -> Q:
    """The filter for rows whose pause is over; a pause too far in the future was set before the clock was set back."""
    until = "postponed_until"
    return Q((until, None)) | Q((f"{until}__lte", now)) | Q((f"{until}__gt", now + LONGEST_PAUSE + SKEW))


def postponed_reason(lack: Reason, pause: timedelta) -> Reason:
    """Why work waits, and for how long."""
    return Reason(lack.code, f"it goes on {pause.total_seconds():.0f} s from now: {lack.sentence}")
