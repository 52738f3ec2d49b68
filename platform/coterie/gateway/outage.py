"""Database outages: once one is noticed, every request is refused at once, until a probe succeeds."""

import shutil
import threading
import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from coterie.core.away import AWAY, DATABASE, DISK
from coterie.core.errors import CoterieError, ErrorKind

PROBE_S = 1.0
CONNECT_S = 2
"""libpq takes whole seconds, and 2 at least."""
LEAST_FREE_BYTES = 1 << 20
"""With less, SQLite cannot even read: a connection first writes its part of the shared index."""
UNANSWERED = (OperationalError, InterfaceError)


@runtime_checkable
class Pooled(Protocol):
    """A Django database connection with a pool."""

    def close_pool(self) -> None:
        """Close them; the next use opens new ones."""


class DatabaseAway(CoterieError):
    """Fields: wait_s."""

    code = "gateway.database_away"
    kind = ErrorKind.UNAVAILABLE
    sentence = "The platform's database does not answer; nothing was lost, try again in {wait_s} s."


class DiskFull(CoterieError):
    """Fields: wait_s."""

    code = "gateway.disk_full"
    kind = ErrorKind.UNAVAILABLE
    sentence = "A disk of the platform is full; nothing was lost: make room, and it goes on by itself."


def database_away() -> DatabaseAway | DiskFull:
    """The error for requests while the database is away, by its reason."""
    return DiskFull(wait_s=5) if _is_full() else DatabaseAway(wait_s=5)


def check_database() -> None:
    """Raises DatabaseAway or DiskFull while it is known to be away."""
    if DATABASE in AWAY or DISK in AWAY:
        raise database_away()


def _is_full() -> bool:
    """Whether it is SQLite, in the state directory, on a full disk."""
    is_here = connections[DEFAULT_DB_ALIAS].vendor == "sqlite"
    return is_here and shutil.disk_usage(settings.STATE).free < LEAST_FREE_BYTES


class DatabaseWatch:
    """After a request failed at the database, probes it on a thread that ends when it answers."""

    def __init__(self, probe: Callable[[], None]) -> None:
        self._probe = probe
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.suspicions = 0
        """How often connections turned out to be broken: those opened before the last time may be broken, too."""

    def suspect(self) -> None:
        """A request failed at the database: check whether the next one would."""
        with self._lock:
            self.suspicions += 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="database-watch", daemon=True)
                self._thread.start()

    def join(self) -> None:
        """Wait until the database answers, if an outage was suspected."""
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._answers():
            AWAY.record_failure(DISK if _is_full() else DATABASE)
            time.sleep(PROBE_S)
        for missed in (DATABASE, DISK):
            AWAY.record_answer(missed)

    def _answers(self) -> bool:
        """Whether a request would get through; where there is no room, reads may, and no write."""
        try:
            self._probe()
        except DatabaseError:
            return False
        return not _is_full()


def probe_database() -> None:
    """Run one query on a separate connection. Raises DatabaseError; resets pooled connections after an outage."""
    used = connections[DEFAULT_DB_ALIAS]
    options = {name: value for name, value in used.settings_dict["OPTIONS"].items() if name != "pool"}
    if used.vendor == "postgresql":
        options["connect_timeout"] = CONNECT_S
    apart: BaseDatabaseWrapper = type(used)({**used.settings_dict, "OPTIONS": options}, DEFAULT_DB_ALIAS)
    try:
        with apart.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        apart.close()
    if DATABASE in AWAY and isinstance(used, Pooled):
        used.close_pool()  # the pool would wait before it connects again
    used.close()


WATCH = DatabaseWatch(probe_database)
"""Of this process."""
