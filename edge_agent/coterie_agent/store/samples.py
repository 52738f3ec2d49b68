"""The device's own samples: float32 rows and their targets, bounded, the oldest dropped first."""

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.database import Database
from coterie_wire.messages import MAX_CLASS_COUNTS

FLOAT_BYTES = 4
_VARIABLES = 500  # of one statement; SQLite's limit was 999 before 3.32


NO_CLASS = -1
"""The label of samples whose target is not one class."""


class Row(NamedTuple):
    """One sample: its features as float32, flattened in the order of the model's inputs, and its class or target."""

    x: bytes
    label: int
    target: bytes = b""
    """float32, flattened, where the target is not one class; the label is NO_CLASS then."""


class StoredRow(NamedTuple):
    """A sample under its number."""

    id: int
    x: bytes
    label: int
    target: bytes = b""


class Widths(NamedTuple):
    """How many numbers one sample has."""

    features: int
    targets: int
    """0 where a sample has a class."""


class Snapshot(NamedTuple):
    """The samples at one moment: those numbered `first` to `last`; later ones are not part of it."""

    first: int
    last: int


class Samples:
    """The samples in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, rows: Iterable[Row], *, max_samples: int, replace: bool = False, one_width: bool = True) -> int:
        """Store all of `rows`, or none if reading them raises; the number stored.

        `replace` drops what was there before. Raises AgentError ``ingest.wrong_width`` when they must have `one_width`
        and it differs from that of the samples that are there, ``ingest.empty`` when there are none.
        """
        # Reading a large file takes minutes, in which a running agent must be able to write.
        with self._database.transaction(staging=True) as cursor:
            cursor.execute("DROP TABLE IF EXISTS temp.incoming")
            cursor.execute("CREATE TEMP TABLE incoming (x BLOB, label INTEGER, target BLOB)")
            checked = _same_width(rows, None) if one_width else rows
            cursor.executemany("INSERT INTO temp.incoming VALUES (?, ?, ?)", checked)
        with self._database.transaction() as cursor:
            if replace:
                cursor.execute("DELETE FROM sample")
            there = cursor.execute("SELECT length(x), length(target) FROM sample LIMIT 1").fetchone()
            first = cursor.execute("SELECT x, label, target FROM temp.incoming LIMIT 1").fetchone()
            if first is None:
                raise AgentError("ingest.empty", "there are no samples in it", exit_code=Exit.BAD_DATA)
            for _ in _same_width([Row(*first)], _widths(there) if one_width else None):
                pass
            cursor.execute(
                "INSERT INTO sample (x, label, target, at) SELECT *, ? FROM temp.incoming ORDER BY rowid",
                (time.time(),),
            )
            stored = cursor.rowcount
            cursor.execute("DROP TABLE temp.incoming")
            cursor.execute(
                "DELETE FROM sample WHERE id <= (SELECT id FROM sample ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (max_samples,),
            )
            return stored

    def count(self) -> int:
        with self._database.reading() as cursor:
            (count,) = cursor.execute("SELECT coalesce(sum(samples), 0) FROM label_count").fetchone()
        return int(count)

    def class_counts(self) -> tuple[int, ...]:
        """How many samples each class has, from class 0 to the highest that occurs, but of 10,000 classes at most."""
        with self._database.reading() as cursor:
            counts = dict(
                cursor.execute(
                    "SELECT label, samples FROM label_count WHERE samples > 0 AND label < ?", (MAX_CLASS_COUNTS,)
                )
            )
        return tuple(counts.get(label, 0) for label in range(max(counts, default=-1) + 1))

    def classes(self) -> int:
        """One more than the highest label."""
        with self._database.reading() as cursor:
            (classes,) = cursor.execute(
                "SELECT coalesce(max(label), -1) + 1 FROM label_count WHERE samples > 0"
            ).fetchone()
        return int(classes)

    def widths(self) -> Widths | None:
        """Those of the samples, of the first one where they differ; None while there is none."""
        with self._database.reading() as cursor:
            return _widths(cursor.execute("SELECT length(x), length(target) FROM sample LIMIT 1").fetchone())

    def seen(self) -> tuple[int, ...]:
        """The labels of which there are samples, ascending."""
        with self._database.reading() as cursor:
            rows = cursor.execute("SELECT label FROM label_count WHERE samples > 0 ORDER BY label").fetchall()
        return tuple(row[0] for row in rows)

    def snapshot(self, *, since: float | None = None) -> Snapshot:
        """The samples of this moment; those from the first that came at `since` (Unix time) or later, where given."""
        condition, values = ("", ()) if since is None else (" WHERE at >= ?", (since,))
        with self._database.reading() as cursor:
            query = f"SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM sample{condition}"  # noqa: S608
            first, last = cursor.execute(query, values).fetchone()
        return Snapshot(first, last)

    def ids(self, snapshot: Snapshot, *, at_most: int = -1) -> list[int]:
        """The numbers of the snapshot's samples that are still there, ascending; the first `at_most`, or all."""
        with self._database.reading() as cursor:
            rows = cursor.execute(
                "SELECT id FROM sample WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", (*snapshot, at_most)
            )
            return [row[0] for row in rows]

    def newest_ids(self, *, up_to: int, count: int) -> list[int]:
        """The numbers of the newest `count` samples of those numbered `up_to` at most, ascending."""
        with self._database.reading() as cursor:
            rows = cursor.execute("SELECT id FROM sample WHERE id <= ? ORDER BY id DESC LIMIT ?", (up_to, count))
            return [row[0] for row in rows][::-1]

    def load(self, ids: Sequence[int]) -> list[StoredRow]:
        """The samples numbered `ids`, in that order; those dropped since are left out."""
        found: dict[int, StoredRow] = {}
        with self._database.reading() as cursor:
            for start in range(0, len(ids), _VARIABLES):
                part = ids[start : start + _VARIABLES]
                marks = ",".join("?" * len(part))
                for row in cursor.execute(f"SELECT id, x, label, target FROM sample WHERE id IN ({marks})", part):  # noqa: S608
                    found[row[0]] = StoredRow(*row)
        return [found[id_] for id_ in ids if id_ in found]


def _widths(lengths: tuple[int, int] | None) -> Widths | None:
    return Widths(*(length // FLOAT_BYTES for length in lengths)) if lengths else None


def _same_width(rows: Iterable[Row], widths: Widths | None) -> Iterable[Row]:
    for row in rows:
        found = Widths(len(row.x) // FLOAT_BYTES, len(row.target) // FLOAT_BYTES)
        if widths is None:
            widths = found
        if found != widths:
            detail = (
                f"a sample of {_counted(found)} among samples of {_counted(widths)}; "
                "correct the file, or drop the stored samples with: coterie-agent ingest --replace FILE"
            )
            raise AgentError("ingest.wrong_width", detail, exit_code=Exit.BAD_DATA)
        yield row


def _counted(widths: Widths) -> str:
    target = f"a target of {widths.targets} numbers" if widths.targets else "a class"
    return f"{widths.features} features and {target}"
