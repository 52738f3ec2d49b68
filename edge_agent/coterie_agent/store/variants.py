"""The smaller forms of the held version that are on the device, their latencies here, and the one that predicts."""

from collections.abc import Mapping

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.bundle import BlobRef
from coterie_wire.latency import Histogram
from coterie_wire.structs import from_json


class KnownForms(msgspec.Struct, frozen=True):
    """The downloaded and timed forms of one version."""

    version: str
    digest: str
    """Digest of the platform's list."""
    forms: Mapping[str, Histogram]
    """Durations of one run on one sample, by form; ``float32`` is the version itself."""
    chosen: str
    """The form that predicts."""
    graph: BlobRef | None
    """Graph of the chosen form; None: the version itself."""


class VariantStore:
    """One row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> KnownForms | None:
        """The forms; None: there are none, or the row was damaged on the disk."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content FROM variants WHERE seal IS seal(content)").fetchone()
        return from_json(row[0], KnownForms) if row else None

    def delete(self) -> None:
        """Delete the forms, so that the version itself predicts."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM variants")

    def keep(self, known: KnownForms) -> None:
        """Store the forms, in place of those before."""
        with self._database.transaction() as cursor:
            content = msgspec.json.encode(known)
            cursor.execute("INSERT OR REPLACE INTO variants VALUES (1, ?1, seal(?1))", (content,))
