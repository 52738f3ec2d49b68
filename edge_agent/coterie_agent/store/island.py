"""The device's part in the island of its neighbourhood: what it must not forget, and what it leads there."""

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.relaying import Lead
from coterie_wire.structs import from_json


class IslandStore:
    """One row, which stays until the platform names another island: a vote is given once, however often it is away."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, name: str, lead: Lead) -> bytes | None:
        """What the voter had saved of this island, empty if nothing yet; None: it lost that, and must not vote in it.

        `lead` is kept for a start without the platform. A row that the disk has damaged may have been of this island,
        so whichever begins next is not voted in.
        """
        with self._database.transaction() as cursor:
            row = cursor.execute(
                "SELECT name, state, may_vote, seal IS seal(name, lead, state, may_vote) FROM island"
            ).fetchone()
            state, may_vote = b"", 1
            if row is not None and not row[3]:
                may_vote = 0
            elif row is not None and row[0] == name:
                state, may_vote = row[1], row[2]
            cursor.execute(
                "INSERT OR REPLACE INTO island VALUES (1, ?1, ?2, ?3, ?4, seal(?1, ?2, ?3, ?4))",
                (name, msgspec.json.encode(lead), state, may_vote),
            )
        return state if may_vote else None

    def save(self, state: bytes) -> None:
        """In place of what was saved of the island before; on the disk when this returns."""
        with self._database.transaction() as cursor:
            cursor.execute("UPDATE island SET state = ?1, seal = seal(name, lead, ?1, may_vote)", (state,))

    def end(self) -> None:
        """The platform has it lead nothing any more; that it voted stays."""
        with self._database.transaction() as cursor:
            cursor.execute(
                "UPDATE island SET lead = x'', seal = seal(name, x'', state, may_vote)"
                " WHERE lead != x'' AND seal IS seal(name, lead, state, may_vote)"
            )

    def lead(self) -> Lead | None:
        """As the platform said last; None: there is none, or it was damaged."""
        query = "SELECT lead FROM island WHERE lead != x'' AND seal IS seal(name, lead, state, may_vote)"
        with self._database.reading() as cursor:
            row = cursor.execute(query).fetchone()
        return from_json(row[0], Lead) if row else None
