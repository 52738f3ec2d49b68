"""When the device comes back to the platform, where it was told a window: drawn once, however often it restarts."""

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.structs import from_json


class NextCheckIn(msgspec.Struct, frozen=True):
    """When the device checks in next."""

    due_at: float
    """Unix time."""
    interval_s: float
    """From one check-in to the next, as the platform has told it."""
    spread_s: float
    """Width of the window that it was drawn from."""
    longest_s: float
    """Seconds that were drawn."""
    said: bytes
    """What the platform knows of the device, as JSON; what differs from it is told at once."""


class CheckInStore:
    """One row; a hint, whose loss has the device come at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, visit: NextCheckIn) -> None:
        """In place of the one before."""
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO visit VALUES (1, ?1, seal(?1))", (msgspec.json.encode(visit),))

    def drop(self) -> None:
        """The device comes as often as in a small fleet."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM visit")

    def find(self) -> NextCheckIn | None:
        """None: none was kept, or it was damaged on the disk."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content FROM visit WHERE seal IS seal(content)").fetchone()
        return from_json(row[0], NextCheckIn) if row else None
