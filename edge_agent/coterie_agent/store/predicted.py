"""Counts by the prediction service, stored until the agent has read them."""

from typing import NamedTuple

import msgspec

from coterie_agent.store.database import Database
from coterie_learning.prediction_counts import PredictionCounts
from coterie_wire.structs import from_json

KEPT = 500
"""Groups of predictions; of more, the oldest are dropped unread."""


class Counted(NamedTuple):
    """Groups of predictions, oldest first."""

    groups: tuple[PredictionCounts, ...]
    up_to: int
    """Number of the last group."""


class PredictedStore:
    """Rows that the service's process adds and the agent reads and deletes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, seen: PredictionCounts) -> None:
        """Store one group."""
        with self._database.transaction() as cursor:
            cursor.execute("INSERT INTO predicted (content, seal) VALUES (?1, seal(?1))", (msgspec.json.encode(seen),))
            cursor.execute("DELETE FROM predicted WHERE id <= (SELECT max(id) FROM predicted) - ?", (KEPT,))

    def load(self) -> Counted | None:
        """The unread groups, without damaged ones; None: there are none."""
        with self._database.reading() as cursor:
            rows = cursor.execute("SELECT id, content, seal IS seal(content) FROM predicted ORDER BY id").fetchall()
        if not rows:
            return None
        return Counted(
            tuple(from_json(content, PredictionCounts) for _, content, is_sound in rows if is_sound), rows[-1][0]
        )

    def delete(self, counted: Counted) -> None:
        """Delete the groups that the agent has read."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM predicted WHERE id <= ?", (counted.up_to,))
