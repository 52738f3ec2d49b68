"""The time of the next check-in, drawn once from the platform's window and unchanged by restarts of the agent."""

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.structs import from_json


class NextCheckIn(msgspec.Struct, frozen=True):
    """When the device checks in next."""

    due_at: float
    """Unix time."""
    interval_s: float
    """Seconds from one check-in to the next, as set by the platform."""
    spread_s: float
    """Width in seconds of the window that it was drawn from."""
    longest_s: float
    """The wait in seconds that was drawn."""
    said: bytes
    """What the platform knows of the device, as JSON; a difference from it is reported immediately."""


class CheckInStore:
    """One row; without it the device checks in immediately."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, check_in: NextCheckIn) -> None:
        """Store the next check-in, in place of the one before."""
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO visit VALUES (1, ?1, seal(?1))", (msgspec.json.encode(check_in),))

    def drop(self) -> None:
        """Delete the time: the device checks in at its interval."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM visit")

    def find(self) -> NextCheckIn | None:
        """The next check-in; None: none is stored, or it was damaged on the disk."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content FROM visit WHERE seal IS seal(content)").fetchone()
        return from_json(row[0], NextCheckIn) if row else None
