"""The backend, with the names that Django expects: ``ENGINE`` and ``.base``.

SQLite allows one write at a time. A writer that finds it locked retries every tenth of a second, until a timeout; under
load another one is always faster, so that some starve: "database is locked". Here threads queue first. Changes are
counted when they are committed, and end the rest of periodic work.
"""

import re
from contextlib import suppress
from sqlite3 import Connection, OperationalError, ProgrammingError
from typing import Any

from django.db.backends.sqlite3 import base

from coterie.config.queued_sqlite.turns import Turns
from coterie.core.resting import CHANGES, is_unremarkable

TURNS = Turns()
"""Of this process, which has one database."""
READS = re.compile(r"\s*(SELECT|PRAGMA|EXPLAIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE)\b", re.IGNORECASE)


class DatabaseWrapper(base.DatabaseWrapper):
    """One thread's connection."""

    holds_turn = False
    """While a transaction is open."""
    has_changed = False
    """Whether the transaction has changed rows, and not in ``unremarkable()``."""

    def create_cursor(self, name: str | None = None) -> "QueuedCursor":  # noqa: ARG002 - Django's signature
        """A cursor whose writes take turns."""
        cursor: QueuedCursor = self.connection.cursor(factory=lambda connection: QueuedCursor(connection, self))
        return cursor

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]  # the stubs leave it out
            self.note_changes()
        finally:
            self._end_turn()

    def _rollback(self) -> None:
        self.has_changed = False
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._end_turn()

    def note_changes(self) -> None:
        """Count committed changes."""
        if self.has_changed:
            self.has_changed = False
            CHANGES.note()

    def _end_turn(self) -> None:
        """Release the turn, unless the transaction is still open: SQLite may refuse to commit."""
        in_transaction = False
        with suppress(ProgrammingError):  # it is closed
            in_transaction = self.connection is not None and self.connection.in_transaction
        if self.holds_turn and not in_transaction:
            self.holds_turn = False
            TURNS.give()


class QueuedCursor(base.SQLiteCursorWrapper):
    """A cursor of one connection."""

    def __init__(self, connection: Connection, wrapper: DatabaseWrapper) -> None:
        super().__init__(connection)
        self._wrapper = wrapper

    def execute(self, query: str, params: Any = None) -> "QueuedCursor":  # noqa: ANN401 - as sqlite3 has it
        """Run a statement, in its turn if it writes. Raises OperationalError "database is locked"."""
        if not self._needs_turn(query):
            super().execute(query, params)
            self._count_changes(query)
            return self
        self._take_turn()
        try:
            super().execute(query, params)
            self._count_changes(query)
        finally:
            self._keep_or_give()
        return self

    def executemany(self, query: str, param_list: Any) -> "QueuedCursor":  # noqa: ANN401 - as sqlite3 has it
        """The same for many rows."""
        if not self._needs_turn(query):
            super().executemany(query, param_list)
            self._count_changes(query)
            return self
        self._take_turn()
        try:
            super().executemany(query, param_list)
            self._count_changes(query)
        finally:
            self._keep_or_give()
        return self

    def _count_changes(self, query: str) -> None:
        """Count the changes of a statement outside a transaction, which is committed with it.

        For one that returns rows, SQLite does not know yet how many it will have changed.
        """
        returns_rows = self.description is not None and READS.match(query) is None
        if (self.rowcount > 0 or returns_rows) and not is_unremarkable():
            self._wrapper.has_changed = True
            if not self.connection.in_transaction:
                self._wrapper.note_changes()

    def _needs_turn(self, query: str) -> bool:
        return not self._wrapper.holds_turn and not self.connection.in_transaction and READS.match(query) is None

    def _take_turn(self) -> None:
        if not TURNS.take(within_s=self._wrapper.settings_dict["OPTIONS"]["timeout"]):
            raise OperationalError("database is locked: too many wait to write to it")

    def _keep_or_give(self) -> None:
        """A transaction that has begun keeps the turn to its end; a single statement releases it."""
        if self.connection.in_transaction:
            self._wrapper.holds_turn = True
        else:
            TURNS.give()
