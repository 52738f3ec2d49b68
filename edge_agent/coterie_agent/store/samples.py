"""The device's own samples: float32 rows and labels, bounded, the oldest dropped first."""

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.database import Database
from coterie_wire.messages import MAX_CLASS_COUNTS

FLOAT_BYTES = 4
_VARIABLES = 500  # of one statement; SQLite's limit was 999 before 3.32


class Row(NamedTuple):
    """One sample: its features as float32, flattened in the order of the model's inputs, and its class."""

    x: bytes
    label: int


class StoredRow(NamedTuple):
    """A sample under its number."""

    id: int
    x: bytes
    label: int


class Snapshot(NamedTuple):
    """The samples at one moment: those numbered `first` to `last`; later ones are not part of it."""

    first: int
    last: int


class Samples:
    """The samples in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, rows: Iterable[Row], *, max_samples: int, replace: bool = False) -> int:
        """Store all of `rows`, or none if reading them raises; the number stored.

        `replace` drops what was there before. Raises AgentError ``ingest.wrong_width`` when the width differs from that
        of the samples that are there, ``ingest.empty`` when there are none.
        """
        # Reading a large file takes minutes, in which a running agent must be able to write.
        with self._database.transaction(staging=True) as cursor:
            cursor.execute("DROP TABLE IF EXISTS temp.incoming")
            cursor.execute("CREATE TEMP TABLE incoming (x BLOB NOT NULL, label INTEGER NOT NULL)")
            cursor.executemany("INSERT INTO temp.incoming VALUES (?, ?)", _same_width(rows, None))
        with self._database.transaction() as cursor:
            if replace:
                cursor.execute("DELETE FROM sample")
            width = cursor.execute("SELECT length(x) FROM sample LIMIT 1").fetchone()
            first = cursor.execute("SELECT x, label FROM temp.incoming LIMIT 1").fetchone()
            if first is None:
                raise AgentError("ingest.empty", "there are no samples in it", exit_code=Exit.BAD_DATA)
            for _ in _same_width([Row(*first)], width[0] if width else None):
                pass
            cursor.execute(
                "INSERT INTO sample (x, label, at) SELECT x, label, ? FROM temp.incoming ORDER BY rowid", (time.time(),)
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

    def features(self) -> int | None:
        """Features of one sample; None while there is no sample."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT length(x) FROM sample LIMIT 1").fetchone()
        return row[0] // FLOAT_BYTES if row else None

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
                for row in cursor.execute(f"SELECT id, x, label FROM sample WHERE id IN ({marks})", part):  # noqa: S608
                    found[row[0]] = StoredRow(*row)
        return [found[id_] for id_ in ids if id_ in found]


def _same_width(rows: Iterable[Row], width: int | None) -> Iterable[Row]:
    for row in rows:
        if width is None:
            width = len(row.x)
        if len(row.x) != width:
            detail = (
                f"a sample of {len(row.x) // FLOAT_BYTES} features among samples of {width // FLOAT_BYTES}; "
                "correct the file, or drop the stored samples with: coterie-agent ingest --replace FILE"
            )
            raise AgentError("ingest.wrong_width", detail, exit_code=Exit.BAD_DATA)
        yield row
