"""The newest list of excluded devices that the agent has received."""

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.bundle import SignedManifest
from coterie_wire.structs import from_json


class ExclusionStore:
    """Every method is one transaction; a damaged list is skipped, as the device will receive it again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self) -> SignedManifest | None:
        """The list, whose signature is to be checked before use; None: there is none."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content FROM exclusions WHERE seal IS seal(content)").fetchone()
        return from_json(row[0], SignedManifest) if row else None

    def keep(self, signed: SignedManifest) -> None:
        """Store the list, in place of the one before."""
        with self._database.transaction() as cursor:
            content = msgspec.json.encode(signed)
            cursor.execute("INSERT OR REPLACE INTO exclusions VALUES (1, ?1, seal(?1))", (content,))
