"""The device's own ledger of its privacy budget: noised releases in all federations."""

import math
import sqlite3

from coterie_agent.store.database import Database
from coterie_learning.accounting import is_affordable


class PrivacyLedgerStore:
    """Written before anything is sent, so that no failure hides it; every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def spent(self) -> float:
        """μ² of all releases; infinite where an entry was damaged on the disk, so that nothing more is released."""
        with self._database.reading() as cursor:
            return _spent(cursor)

    def spent_by_federation(self) -> tuple[tuple[str, float], ...]:
        """μ² by federation, sorted by name."""
        with self._database.reading() as cursor:
            rows = cursor.execute("SELECT federation, sum(mu2) FROM told GROUP BY federation ORDER BY federation")
            return tuple(rows.fetchall())

    def charge(self, release: str, federation: str, mu2: float, *, most: float, now: float) -> bool:
        """Charge `release` with `mu2`; False, and nothing is written, where the total would exceed `most`.

        A release that was charged before is not charged again.
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
        """Refund a release: the platform, which adds the noise itself, has not counted what was sent."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM told WHERE release = ?", (release,))


def _spent(cursor: sqlite3.Cursor) -> float:
    query = "SELECT mu2, seal IS seal(release, federation, mu2, at) FROM told"
    return math.fsum(mu2 if is_sound else math.inf for mu2, is_sound in cursor.execute(query))
