"""Samples without a label, the state of the questions to the owner about them, and the sources of labels."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from coterie_agent.store.database import Database
from coterie_learning.labelling import LabelKind, Labelling
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)
MAX_UNLABELLED = 1000
"""Samples stored; the oldest are dropped first."""


class Unlabelled(NamedTuple):
    """A sample without a label."""

    id: int
    x: bytes
    """float32, as in `Row`."""
    shown: str
    """Text that the program which added it shows for it; may be blank."""


class LabellingStore:
    """Every method is one transaction, which includes the change of the state that goes with it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, samples: Sequence[tuple[bytes, str]]) -> int:
        """Store samples, each with the text shown for it; the number stored afterwards."""
        with self._database.transaction() as cursor:
            for x, shown in samples:
                row = (x, shown, time.time())
                cursor.execute("INSERT INTO unlabelled (x, shown, at, seal) VALUES (?1, ?2, ?3, seal(?1, ?2, ?3))", row)
            cursor.execute(
                "DELETE FROM unlabelled WHERE id <= (SELECT id FROM unlabelled ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (MAX_UNLABELLED,),
            )
            (count,) = cursor.execute("SELECT count(*) FROM unlabelled").fetchone()
        return int(count)

    def count(self) -> int:
        with self._database.reading() as cursor:
            (count,) = cursor.execute("SELECT count(*) FROM unlabelled").fetchone()
        return int(count)

    def find(self, number: int) -> Unlabelled | None:
        """The sample `number`; None: it was dropped to make room, or damaged on the disk."""
        with self._database.reading() as cursor:
            query = "SELECT id, x, shown FROM unlabelled WHERE id = ? AND seal IS seal(x, shown, at)"
            row = cursor.execute(query, (number,)).fetchone()
        return None if row is None else Unlabelled(*row)

    def newest(self, count: int, *, x_bytes: int) -> list[Unlabelled]:
        """The newest `count` samples of `x_bytes` bytes, newest first."""
        with self._database.reading() as cursor:
            query = (
                "SELECT id, x, shown FROM unlabelled WHERE length(x) = ? AND seal IS seal(x, shown, at)"
                " ORDER BY id DESC LIMIT ?"
            )
            return [Unlabelled(*row) for row in cursor.execute(query, (x_bytes, count))]

    def kinds(self) -> dict[LabelKind, int]:
        """Number of samples by the source of their label, without those that were added with a label."""
        with self._database.reading() as cursor:
            return dict(cursor.execute("SELECT kind, count(*) FROM label_source GROUP BY kind").fetchall())

    def state(self) -> Labelling:
        """The state of the questions; a damaged row is replaced by one that asks nothing for a day."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content, seal IS seal(content) FROM labelling").fetchone()
        if row is None:
            return Labelling()
        if row[1]:
            return from_json(row[0], Labelling)
        log.warning("what was asked of the owner was damaged on the disk; nothing is asked for a day")
        fresh = Labelling(snoozed_until=time.time() + 86_400)
        self.save(fresh)
        return fresh

    def save(self, state: Labelling) -> None:
        with self._database.transaction() as cursor:
            self._save(cursor.execute, state)

    def label(self, question: Unlabelled, label: int, answered: Callable[[int], Labelling]) -> None:
        """Turn `question` into a sample of class `label`, and save the state computed from its number."""
        with self._database.transaction() as cursor:
            row = (question.x, label, b"", time.time())
            cursor.execute("INSERT INTO sample (x, label, target, at) VALUES (?, ?, ?, ?)", row)
            number = cursor.lastrowid
            assert number is not None, "a row was inserted"
            cursor.execute("UPDATE sample SET seal = seal(id, x, label, target, at) WHERE id = ?", (number,))
            cursor.execute("INSERT INTO label_source VALUES (?, 'asked', ?)", (number, question.shown))
            cursor.execute("DELETE FROM unlabelled WHERE id = ?", (question.id,))
            self._save(cursor.execute, answered(number))

    def drop(self, question: int, state: Labelling) -> None:
        """Delete a sample without a label, and save the state."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM unlabelled WHERE id = ?", (question,))
            self._save(cursor.execute, state)

    def take_back(self, number: int, undone: Callable[[int], Labelling]) -> bool:
        """Turn the sample `number` into one without a label again, and save the state computed from its new number.

        False, and nothing changes, where the sample does not exist any more.
        """
        with self._database.transaction() as cursor:
            query = (
                "SELECT x, shown FROM sample JOIN label_source ON sample.id = label_source.sample"
                " WHERE sample.id = ? AND seal IS seal(id, x, label, target, at)"
            )
            row = cursor.execute(query, (number,)).fetchone()
            if row is None:
                return False
            values = (*row, time.time())
            cursor.execute("INSERT INTO unlabelled (x, shown, at, seal) VALUES (?1, ?2, ?3, seal(?1, ?2, ?3))", values)
            question = cursor.lastrowid
            assert question is not None, "a row was inserted"
            cursor.execute("DELETE FROM sample WHERE id = ?", (number,))
            self._save(cursor.execute, undone(question))
            return True

    def _save(self, execute: Callable[[str, tuple[bytes]], object], state: Labelling) -> None:
        execute("INSERT OR REPLACE INTO labelling VALUES (1, ?1, seal(?1))", (msgspec.json.encode(state),))
