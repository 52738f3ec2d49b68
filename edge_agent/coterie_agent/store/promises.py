"""Privacy budgets of federations: as agreed to by the owner, and larger ones that are pending."""

import logging
import sqlite3
from collections.abc import Collection
from typing import NamedTuple

from coterie_agent.store.database import Database
from coterie_wire.messages import PrivacyBudget

log = logging.getLogger(__name__)
_AGREED, _ASKED = 1, 0


class Raised(NamedTuple):
    """A federation with a larger budget, which the owner has not agreed to yet."""

    federation: str
    agreed: PrivacyBudget
    asked: PrivacyBudget


class PromiseStore:
    """Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def agreed(self, federation: str) -> PrivacyBudget | None:
        """The agreed budget; None: there is none, or it was damaged on the disk."""
        with self._database.reading() as cursor:
            return _find(cursor, federation, _AGREED)

    def agree(self, federation: str, budget: PrivacyBudget) -> None:
        """Store the agreed budget, and delete the pending one."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM promise WHERE federation = ?", (federation,))
            _write(cursor, federation, _AGREED, budget)

    def ask(self, federation: str, budget: PrivacyBudget) -> None:
        """Store a pending budget for the owner to agree to."""
        with self._database.transaction() as cursor:
            _write(cursor, federation, _ASKED, budget)

    def raised(self) -> tuple[Raised, ...]:
        """The pending budgets, by federation."""
        with self._database.reading() as cursor:
            query = "SELECT federation FROM promise WHERE agreed = ? ORDER BY federation"
            names = [name for (name,) in cursor.execute(query, (_ASKED,)).fetchall()]
            pairs = [(name, _find(cursor, name, _AGREED), _find(cursor, name, _ASKED)) for name in names]
        return tuple(Raised(name, agreed, asked) for name, agreed, asked in pairs if agreed and asked)

    def keep_only(self, federations: Collection[str]) -> None:
        """Delete the pending budgets of all other federations; agreed ones stay."""
        for raised in self.raised():
            if raised.federation not in federations:
                self.agree(raised.federation, raised.agreed)


def _find(cursor: sqlite3.Cursor, federation: str, agreed: int) -> PrivacyBudget | None:
    query = "SELECT epsilon, delta, seal IS seal(federation, agreed, epsilon, delta) FROM promise"
    row = cursor.execute(f"{query} WHERE federation = ? AND agreed = ?", (federation, agreed)).fetchone()
    if row is None:
        return None
    epsilon, delta, is_sound = row
    if not is_sound:
        log.warning("what %s may tell of the device was damaged on the disk, and is asked anew", federation)
        return None
    return PrivacyBudget(epsilon, delta)


def _write(cursor: sqlite3.Cursor, federation: str, agreed: int, budget: PrivacyBudget) -> None:
    row = (federation, agreed, float(budget.epsilon), float(budget.delta))  # as SQLite stores them
    cursor.execute("INSERT OR REPLACE INTO promise VALUES (?1, ?2, ?3, ?4, seal(?1, ?2, ?3, ?4))", row)
