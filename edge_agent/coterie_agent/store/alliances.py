"""A device's part in alliances: its table, its progress, and the letters that the other party has not received yet."""

from collections.abc import Sequence
from typing import NamedTuple

from coterie_agent.errors import AgentError
from coterie_agent.store.database import Database


class AllianceState(NamedTuple):
    """The progress of an alliance; all of it changes in one transaction."""

    party: bytes
    """A `coterie_learning.vertical.party.Standing`, as MessagePack."""
    tensors: bytes
    """The tensors of its half of the network, as a tensor file."""
    received: int
    """Letters of the other party that were processed."""
    sent: int
    """Letters written, received by the other party or not."""


class Agreed(NamedTuple):
    """What the owner has agreed to."""

    partner: bytes
    """The other party's public key."""
    table: bytes
    """A `coterie_agent.alliance.table.Table`."""
    secret: bytes
    """64 secret random bytes."""


class AllianceStore:
    """Rows by alliance."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def agree(self, alliance: str, agreed: Agreed) -> None:
        """Record what the owner has agreed to, unless it was agreed to before."""
        with self._database.transaction() as cursor:
            statement = "INSERT OR IGNORE INTO alliance VALUES (?1, ?2, ?3, ?4, seal(?1, ?2, ?3, ?4))"
            cursor.execute(statement, (alliance, *agreed))

    def agreed(self, alliance: str) -> Agreed | None:
        """The agreement; None: there is none. Raises AgentError ``alliance.damaged``."""
        with self._database.reading() as cursor:
            query = "SELECT partner, content, secret, seal IS seal(alliance, partner, content, secret) FROM alliance"
            row = cursor.execute(f"{query} WHERE alliance = ?", (alliance,)).fetchone()
        if row is None:
            return None
        *values, is_sound = row
        if not is_sound:
            raise _damaged(alliance)
        return Agreed(*values)

    def load(self, alliance: str) -> AllianceState | None:
        """The progress; None: not begun. Raises AgentError ``alliance.damaged``."""
        with self._database.reading() as cursor:
            columns = "party, tensors, received, sent"
            query = f"SELECT {columns}, seal IS seal(alliance, {columns}) FROM alliance_standing WHERE alliance = ?"  # noqa: S608  # our own names
            row = cursor.execute(query, (alliance,)).fetchone()
        if row is None:
            return None
        *values, is_sound = row
        if not is_sound:
            raise _damaged(alliance)
        return AllianceState(*values)

    def keep(self, alliance: str, state: AllianceState, letters: Sequence[bytes]) -> None:
        """Replace the state, and add its new sealed letters, which end with number `sent` - 1."""
        with self._database.transaction() as cursor:
            statement = "INSERT OR REPLACE INTO alliance_standing VALUES (?1, ?2, ?3, ?4, ?5, seal(?1, ?2, ?3, ?4, ?5))"
            cursor.execute(statement, (alliance, *state))
            first = state.sent - len(letters)
            rows = [(alliance, first + at, letter) for at, letter in enumerate(letters)]
            cursor.executemany("INSERT INTO alliance_letter VALUES (?, ?, ?)", rows)

    def letters(self, alliance: str, *, first: int, most: int) -> list[bytes]:
        """Letters from number `first` on."""
        with self._database.reading() as cursor:
            query = "SELECT content FROM alliance_letter WHERE alliance = ? AND number >= ? ORDER BY number LIMIT ?"
            return [content for (content,) in cursor.execute(query, (alliance, first, most)).fetchall()]

    def delete_taken(self, alliance: str, count: int) -> None:
        """Delete the first `count` letters, which the other party has received."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM alliance_letter WHERE alliance = ? AND number < ?", (alliance, count))


def _damaged(alliance: str) -> AgentError:
    detail = f"the disk has damaged what was kept of alliance {alliance}; have its operator begin another"
    return AgentError("alliance.damaged", detail)
