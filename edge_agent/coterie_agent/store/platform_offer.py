"""Whether the platform predicts for the device: written by the agent's process, read by the prediction service."""

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.fallback import PlatformOffer
from coterie_wire.structs import from_json


class PlatformOfferStore:
    """One row. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> PlatformOffer | None:
        """The offer; None: the platform does not predict for devices, or the row was damaged on the disk."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content FROM platform_offer WHERE seal IS seal(content)").fetchone()
        return from_json(row[0], PlatformOffer) if row else None

    def hold(self, offer: PlatformOffer | None) -> None:
        """Store the platform's current offer; the disk is written only where it has changed."""
        if offer == self.load():
            return
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM platform_offer")
            if offer is not None:
                cursor.execute("INSERT INTO platform_offer VALUES (1, ?1, seal(?1))", (msgspec.json.encode(offer),))
