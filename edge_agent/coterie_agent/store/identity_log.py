"""The log of identities as far as the device has read it; nothing of it is ever changed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from coterie_agent.store.database import Database
from coterie_wire.secure_sum import LogEntry


class Logged(NamedTuple):
    """An entry, and the head of the log that ends with it."""

    device: str
    identity: bytes
    head: bytes


class IdentityLogStore:
    """Entries by position, from 1 on."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def length(self) -> int:
        """How many entries the device has read."""
        with self._database.reading() as cursor:
            return int(cursor.execute("SELECT count(*) FROM identity_log").fetchone()[0])

    def head(self, length: int) -> bytes | None:
        """The head after so many entries; None: the device has not read as many."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT head FROM identity_log WHERE position = ?", (length,)).fetchone()
        return None if row is None else bytes(row[0])

    def append(self, entries: Sequence[LogEntry], heads: Sequence[bytes]) -> None:
        """Keep the entries that follow, each with its head; no device has two."""
        with self._database.transaction() as cursor:
            (length,) = cursor.execute("SELECT count(*) FROM identity_log").fetchone()
            rows = [
                (length + place, entry.device, entry.identity, head)
                for place, (entry, head) in enumerate(zip(entries, heads, strict=True), start=1)
            ]
            cursor.executemany("INSERT INTO identity_log VALUES (?, ?, ?, ?)", rows)

    def identities(self, devices: Iterable[str], *, length: int) -> Mapping[str, bytes]:
        """The identities of those of `devices` that are among the first `length` entries."""
        with self._database.reading() as cursor:
            query = "SELECT identity FROM identity_log WHERE device = ? AND position <= ?"
            found = {device: cursor.execute(query, (device, length)).fetchone() for device in devices}
        return {device: bytes(row[0]) for device, row in found.items() if row is not None}

    def entries(self) -> Sequence[Logged]:
        """All of them."""
        with self._database.reading() as cursor:
            rows = cursor.execute("SELECT device, identity, head FROM identity_log ORDER BY position").fetchall()
        return [Logged(*row) for row in rows]
