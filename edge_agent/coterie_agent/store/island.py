"""The device's part in the island of its neighbourhood: its voter state, and its role as a supernode."""

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.relaying import Lead
from coterie_wire.structs import from_json


class IslandStore:
    """One row, which stays until the platform names another island, so that no voter votes twice in a term."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, name: str, lead: Lead) -> bytes | None:
        """The saved voter state of this island, empty if there is none yet; None: it was lost, so it must not vote.

        `lead` is stored for a start without the platform. A damaged row may have been of this island, so the device
        does not vote in the island that begins next.
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
        """Replace the saved voter state; on the disk when this returns."""
        with self._database.transaction() as cursor:
            cursor.execute("UPDATE island SET state = ?1, seal = seal(name, lead, ?1, may_vote)", (state,))

    def end(self) -> None:
        """Delete the supernode role, which the platform has ended; the voter state stays."""
        with self._database.transaction() as cursor:
            cursor.execute(
                "UPDATE island SET lead = x'', seal = seal(name, x'', state, may_vote)"
                " WHERE lead != x'' AND seal IS seal(name, lead, state, may_vote)"
            )

    def lead(self) -> Lead | None:
        """The supernode role, as last sent by the platform; None: there is none, or it was damaged."""
        query = "SELECT lead FROM island WHERE lead != x'' AND seal IS seal(name, lead, state, may_vote)"
        with self._database.reading() as cursor:
            row = cursor.execute(query).fetchone()
        return from_json(row[0], Lead) if row else None
