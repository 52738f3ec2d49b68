"""The questions that the device received, and how each ended for it."""

from typing import Literal

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.asking import OpenQuestion

QuestionOutcome = Literal["answered", "declined", "uncounted"]
_KEPT = 200


class AnsweredQuestion(msgspec.Struct, frozen=True):
    """How a question ended for the device."""

    outcome: QuestionOutcome
    """``answered``: the device is in the sum; ``declined``: it sent nothing of what it counted; ``uncounted``: the sum
    continued without it, or failed."""
    sentence: str
    federation: str
    question: str
    """A `coterie_learning.question.Question`, as JSON."""
    at: float


class QuestionStore:
    """At most one question at a time; every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, answer: str) -> None:
        """Delete the sum of any other question."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM question_sum WHERE assignment <> ?", (answer,))
            cursor.execute("DELETE FROM question_vector WHERE one NOT IN (SELECT one FROM question_sum)")

    def finish(self, asked: OpenQuestion, outcome: QuestionOutcome, sentence: str, *, now: float) -> None:
        """Record how the question ended, and delete its sum."""
        row = (asked.answer, outcome, sentence, asked.federation, bytes(asked.question).decode(), now)
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO question VALUES (?, ?, ?, ?, ?, ?)", row)
            cursor.execute(
                "DELETE FROM question WHERE answer NOT IN (SELECT answer FROM question ORDER BY rowid DESC LIMIT ?)",
                (_KEPT,),
            )
            cursor.execute("DELETE FROM question_sum")
            cursor.execute("DELETE FROM question_vector")

    def is_finished(self, answer: str) -> bool:
        """Whether the question has ended for the device."""
        with self._database.reading() as cursor:
            return cursor.execute("SELECT 1 FROM question WHERE answer = ?", (answer,)).fetchone() is not None

    def outcomes(self) -> tuple[AnsweredQuestion, ...]:
        """How the latest questions ended, newest first."""
        with self._database.reading() as cursor:
            query = "SELECT outcome, sentence, federation, question, at FROM question ORDER BY rowid DESC"
            return tuple(AnsweredQuestion(*row) for row in cursor.execute(query).fetchall())
