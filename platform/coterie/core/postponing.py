"""Work that lacks something which comes back by itself waits for it: no worker and no input is to blame.

A full disk and a storage of files that does not answer are such. Each pause is twice the one before.
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
FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=5)


class Postponed(models.Model):
    """A row whose work waits for what it lacks."""

    postponed_until = models.DateTimeField(null=True, blank=True)
    """No worker begins before: a resource is missing, which does not count as a failed attempt."""
    postponements = models.PositiveIntegerField(default=0, db_default=0)
    """How often it was; each pause is twice the one before."""

    class Meta:
        abstract = True


def lack_of(error: Exception) -> Reason | None:
    """What the machine or the storage of files lacked, which no input and no worker can help; None: nothing."""
    if isinstance(error, CoterieError) and error.code in (DISK_FULL, STORAGE_AWAY):
        return Reason(error.code, str(error))
    return Reason(DISK_FULL, f"The disk is full: {error}.") if is_full(error) else None


def pause_after(postponements: int) -> timedelta:
    """How long work waits that was postponed so often before."""
    return min(FIRST_PAUSE * (1 << min(postponements, 10)), LONGEST_PAUSE)


def postponed(pause: timedelta, now: datetime) -> Mapping[str, object]:
    """The columns of a row that is `Postponed` by so much."""
    return {"postponed_until": now + pause, "postponements": F("postponements") + 1}


def is_due(now: datetime) -> Q:
    """The filter for rows whose pause is over; one that ends later than it can was given before the clock was set."""
    until = "postponed_until"
    return Q((until, None)) | Q((f"{until}__lte", now)) | Q((f"{until}__gt", now + LONGEST_PAUSE + SKEW))


def goes_on(lack: Reason, pause: timedelta) -> Reason:
    """Why work waits, and for how long."""
    return Reason(lack.code, f"it goes on {pause.total_seconds():.0f} s from now: {lack.sentence}")
