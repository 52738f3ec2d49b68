"""The progress of a federated evaluation, and its report until the platform has it."""

import msgspec

from coterie_agent.store.database import Database
from coterie_agent.store.samples import Snapshot
from coterie_wire.evaluating import ReportEvaluation
from coterie_wire.structs import from_json


class Evaluating(msgspec.Struct, frozen=True):
    """Sums over the held-out samples measured so far, in their order: resuming from them gives the same bits."""

    evaluation: str
    snapshot: Snapshot
    held_out: int
    """Number of samples to measure; if some were removed meanwhile, the evaluation starts again."""
    seen: int = 0
    """Number of samples read so far."""
    samples: int = 0
    """Number of these that were undamaged, and are counted."""
    loss: float = 0.0
    right: float | None = None
    """Correct predictions; None: the task has no classes, or nothing was measured yet."""
    report: ReportEvaluation | None = None
    """The outcome, which the platform has not acknowledged."""


class EvaluationStore:
    """One row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, evaluation: str) -> Evaluating | None:
        """The progress of `evaluation`; None: not begun, or damaged on the disk."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content FROM evaluating WHERE seal IS seal(content)").fetchone()
        found = from_json(row[0], Evaluating) if row else None
        return found if found is not None and found.evaluation == evaluation else None

    def save(self, evaluating: Evaluating) -> None:
        """Store the progress, in place of the one before."""
        with self._database.transaction() as cursor:
            content = msgspec.json.encode(evaluating)
            cursor.execute("INSERT OR REPLACE INTO evaluating VALUES (1, ?1, seal(?1))", (content,))

    def delete(self) -> None:
        """Delete the progress: the platform has the report, or does not request it any more."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM evaluating")
