"""What was told of the device under noise, by whom: its own account of its privacy budget, across all federations."""

import math
import sqlite3

from coterie_agent.store.database import Database
from coterie_learning.accounting import is_affordable


class PrivacyLedgerStore:
    """Written before anything leaves, so that no failure hides it; every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def spent(self) -> float:
        """μ² of all that was told; infinite where the disk has damaged an entry, so that nothing more is told."""
        with self._database.reading() as cursor:
            return _spent(cursor)

    def spent_by_federation(self) -> tuple[tuple[str, float], ...]:
        """The same of each federation, by name."""
        with self._database.reading() as cursor:
            rows = cursor.execute("SELECT federation, sum(mu2) FROM told GROUP BY federation ORDER BY federation")
            return tuple(rows.fetchall())

    def charge(self, release: str, federation: str, mu2: float, *, most: float, now: float) -> bool:
        """Write down what `release` tells; False, and nothing is written, where that would exceed `most` in all.

        What was written down before is not charged again.
        """
        with self._database.transaction() as cursor:
            if cursor.execute("SELECT 1 FROM told WHERE release = ?", (release,)).fetchone() is not None:
                return True
            if not is_affordable(most, _spent(cursor), mu2):
                return False
            row = (release, federation, mu2, now)
            cursor.execute("INSERT INTO told VALUES (?1, ?2, ?3, ?4, seal(?1, ?2, ?3, ?4))", row)
        return True

    def take_back(self, release: str) -> None:
        """Nothing was told: the platform has not counted what was sent, and adds the noise itself."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM told WHERE release = ?", (release,))


def _spent(cursor: sqlite3.Cursor) -> float:
    query = "SELECT mu2, seal IS seal(release, federation, mu2, at) FROM told"
    return math.fsum(mu2 if is_sound else math.inf for mu2, is_sound in cursor.execute(query))
