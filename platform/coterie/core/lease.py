"""Leases: a worker holds a row for a few seconds at a time, so that another takes over its work if it dies."""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

from django.db import DatabaseError, connection, models
from django.db.models import F, Q, QuerySet

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=6)
HEARTBEAT_S = 1.5
"""Four chances to extend a lease before it ends."""


SKEW = 2 * LEASE
"""A timestamp further ahead than this was written before the clock was set back; clocks differ by less."""


class Leased(models.Model):
    """A row that one worker at a time processes, as long as it extends its lease every few seconds."""

    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    """The worker that holds it."""
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    """How many workers have taken it."""

    class Meta:
        abstract = True


Row = TypeVar("Row", bound=Leased)


def free(now: datetime) -> Q:
    """The filter for rows without a holder."""
    return Q(lease_until=None) | lapsed(now)


def lapsed(now: datetime) -> Q:
    """The filter for rows whose holder has died; a live worker extends its lease every few seconds."""
    return Q(lease_until__lt=now) | Q(lease_until__gt=now + LEASE + SKEW)


def take_lease(rows: QuerySet[Row], *, lease: UUID, now: datetime, **changes: object) -> bool:
    """Hold the one row of `rows` for a while; False if another worker holds it, or it is no longer one of them."""
    taken = rows.filter(free(now)).update(
        lease_token=lease, lease_until=now + LEASE, attempts=F("attempts") + 1, **changes
    )
    return taken == 1


def extend_lease(rows: QuerySet[Row], *, lease: UUID, now: datetime) -> bool:
    """Extend the lease; False if another worker has taken the row, or it is no longer one of `rows`."""
    return rows.filter(lease_token=lease).update(lease_until=now + LEASE) == 1


class Heartbeat:
    """Extends a lease in its own thread within the block. `extend` returns whether the lease is still ours; once it is
    not, `lost` is set.
    """

    def __init__(self, extend: Callable[[], bool]) -> None:
        self.lost = threading.Event()
        self._extend = extend
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._done.wait(HEARTBEAT_S):
                try:
                    if not self._extend():
                        self.lost.set()
                        return
                except DatabaseError:
                    logger.warning("a lease could not be extended; trying again", exc_info=True)
        finally:
            connection.close()
