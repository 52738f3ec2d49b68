"""The log of identities as far as the device has read it; entries are never changed.

Its entries need no seals: each one's head is the hash of all before it and of itself. The end of the log is stored
beside it with a seal, so that entries damaged on the disk are read again and must be the same.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from coterie_agent.errors import AgentError
from coterie_agent.store.database import Database
from coterie_learning.secure_sum.identities import EMPTY, next_head
from coterie_wire.secure_sum import LogEntry

_ROWS = "SELECT position, CAST(device AS BLOB), identity, head FROM identity_log ORDER BY position"
"""Names as bytes: damaged ones are not text."""


class Logged(NamedTuple):
    """An entry, and the head of the log up to and including it."""

    device: str
    identity: bytes
    head: bytes


class LogEnd(NamedTuple):
    """The largest length that the device has ever read, and the head there."""

    length: int
    head: bytes


class IdentityLogStore:
    """Entries by position, from 1 on."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def length(self) -> int:
        """Number of entries stored."""
        with self._database.reading() as cursor:
            return _length(cursor)

    def head(self, length: int) -> bytes | None:
        """The head after `length` entries; None: the device has fewer."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT head FROM identity_log WHERE position = ?", (length,)).fetchone()
        return None if row is None else bytes(row[0])

    def end(self) -> LogEnd:
        """The end; past the stored entries where damaged ones were removed. Raises AgentError ``agent.log_damaged``."""
        with self._database.transaction() as cursor:
            return _end(cursor)

    def append(self, entries: Sequence[LogEntry], heads: Sequence[bytes], *, after: int) -> None:
        """Store the entries that follow the first `after`, each with its head; no device has two.

        Entries that another sum of this device has stored meanwhile stay; if it has removed damaged ones, nothing is
        stored.
        """
        numbered = enumerate(zip(entries, heads, strict=True), start=after + 1)
        rows = [(position, entry.device, entry.identity, head) for position, (entry, head) in numbered]
        with self._database.transaction() as cursor:
            length = _length(cursor)
            if length < after:
                return
            cursor.executemany("INSERT INTO identity_log VALUES (?, ?, ?, ?)", rows[length - after :])
            if rows and rows[-1][0] > _end(cursor).length:
                _set_end(cursor, LogEnd(rows[-1][0], rows[-1][3]))

    def identities(self, devices: Iterable[str], *, length: int) -> Mapping[str, bytes]:
        """The identities of those of `devices` that are among the first `length` entries."""
        with self._database.reading() as cursor:
            query = "SELECT identity FROM identity_log WHERE device = ? AND position <= ?"
            found = {device: cursor.execute(query, (device, length)).fetchone() for device in devices}
        return {device: bytes(row[0]) for device, row in found.items() if row is not None}

    def entries(self) -> Sequence[Logged]:
        """All entries up to the first damaged one."""
        with self._database.reading() as cursor:
            return list(_sound(cursor))

    def mend(self) -> int:
        """Remove the first damaged entry and all that follow, to be read again; the number removed.

        The entries read again must match `end`. Raises AgentError ``agent.log_damaged`` where that is not known.
        """
        with self._database.transaction() as cursor:
            _end(cursor)  # it may have to be restored from the entries that are removed below
            sound = sum(1 for _ in _sound(cursor))
            cursor.execute("REINDEX identity_log")  # it may be the index that is damaged, or not know the damaged entry
            cursor.execute("DELETE FROM identity_log WHERE position NOT BETWEEN 1 AND ?", (sound,))
            return cursor.rowcount


def _length(cursor: sqlite3.Cursor) -> int:
    return int(cursor.execute("SELECT count(*) FROM identity_log").fetchone()[0])


def _sound(cursor: sqlite3.Cursor) -> Iterator[Logged]:
    """The entries from the first on, while each follows from the one before."""
    head = EMPTY
    for expected, (position, device, identity, stored) in enumerate(cursor.execute(_ROWS), start=1):
        entry = _entry(device, identity, stored)
        if position != expected or not _follows(head, entry):
            return
        yield entry
        head = entry.head


def _end(cursor: sqlite3.Cursor) -> LogEnd:
    """The stored end; if damaged, that of the last entry, provided that entry follows from the one before."""
    noted = cursor.execute("SELECT length, head, seal IS seal(length, head) FROM identity_log_end").fetchone()
    if noted is None:
        return LogEnd(0, EMPTY)
    length, head, is_sound = noted
    if is_sound:
        return LogEnd(length, bytes(head))
    last, *before = cursor.execute(f"{_ROWS} DESC LIMIT 2").fetchall() or [(0, b"", b"", b"")]
    entry = _entry(*last[1:])
    if not _follows(bytes(before[0][3]) if before else EMPTY, entry):
        raise AgentError(
            "agent.log_damaged",
            "the end of the log of identities was damaged on the disk, so nothing tells whether the platform still has "
            "the same; leave and join again",
        )
    end = LogEnd(last[0], entry.head)
    _set_end(cursor, end)
    return end


def _set_end(cursor: sqlite3.Cursor, end: LogEnd) -> None:
    cursor.execute("INSERT OR REPLACE INTO identity_log_end VALUES (1, ?1, ?2, seal(?1, ?2))", end)


def _entry(device: bytes, identity: bytes, head: bytes) -> Logged:
    return Logged(device.decode(errors="replace"), bytes(identity), bytes(head))


def _follows(head: bytes, entry: Logged) -> bool:
    return next_head(head, entry.device, entry.identity) == entry.head
