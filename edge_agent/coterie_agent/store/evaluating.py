"""How far the device is with a federated evaluation, and the report until the platform has it."""

import msgspec

from coterie_agent.store.database import Database
from coterie_agent.store.samples import Snapshot
from coterie_wire.evaluating import ReportEvaluation
from coterie_wire.structs import from_json


class Evaluating(msgspec.Struct, frozen=True):
    """Sums over the held-out samples measured so far, in their order: going on from here gives the same bits."""

    evaluation: str
    snapshot: Snapshot
    held_out: int
    """How many samples there are to measure; where some of them have gone meanwhile, it begins anew."""
    seen: int = 0
    """How many of these were visited."""
    samples: int = 0
    """How many of those were sound, and are counted."""
    loss: float = 0.0
    right: float | None = None
    """None: the task has no right and wrong, or nothing was measured yet."""
    report: ReportEvaluation | None = None
    """The outcome, which the platform has not acknowledged."""


class EvaluationStore:
    """One row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, evaluation: str) -> Evaluating | None:
        """How far the device is with it; None: it has not begun, or the disk has damaged what it had."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content FROM evaluating WHERE seal IS seal(content)").fetchone()
        found = from_json(row[0], Evaluating) if row else None
        return found if found is not None and found.evaluation == evaluation else None

    def save(self, evaluating: Evaluating) -> None:
        """In place of what was there."""
        with self._database.transaction() as cursor:
            content = msgspec.json.encode(evaluating)
            cursor.execute("INSERT OR REPLACE INTO evaluating VALUES (1, ?1, seal(?1))", (content,))

    def forget(self) -> None:
        """The platform has the report, or does not want it."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM evaluating")
