"""The device's own samples: float32 rows and their targets, bounded, the oldest dropped first."""

import logging
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coterie_agent.errors import AgentError, Exit
from coterie_agent.store.database import Database
from coterie_learning.labelling import LabelKind
from coterie_wire.bundle import MAX_CLASSES
from coterie_wire.messages import MAX_CLASS_COUNTS

FLOAT_BYTES = 4
_VARIABLES = 500  # of one statement; SQLite's limit was 999 before 3.32


log = logging.getLogger(__name__)
_DAMAGED = "damaged samples"
_CLASSES = "classes of the model"
_IS_SOUND = "seal IS seal(id, x, label, target, at)"
NO_CLASS = -1
"""The label of samples whose target is not a class."""


class Row(NamedTuple):
    """One sample: its features as float32, flattened in the order of the model's inputs, and its class or target."""

    x: bytes
    label: int
    target: bytes = b""
    """float32, flattened, where the target is not one class; the label is NO_CLASS then."""


class StoredRow(NamedTuple):
    """A sample with its number."""

    id: int
    x: bytes
    label: int
    target: bytes = b""


class Widths(NamedTuple):
    """Number of values in one sample."""

    features: int
    targets: int
    """0 where a sample has a class."""


class Snapshot(NamedTuple):
    """The samples at one moment: those numbered `first` to `last`, without any added later."""

    first: int
    last: int


class SampleStore:
    """The samples in the database.

    Those whose label the model does not know are set aside: they are kept and counted, and nothing else sees them.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        rows: Iterable[Row],
        *,
        max_samples: int,
        replace: bool = False,
        one_width: bool = True,
        kind: LabelKind = "given",
    ) -> int:
        """Store all of `rows`, or none if reading them raises; the number stored.

        `replace` drops the stored samples first, `kind` is the source of the labels. Raises AgentError
        ``ingest.wrong_width`` when they must have `one_width` and it differs from that of the stored samples,
        ``ingest.empty`` when there are no rows.
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
            (last,) = cursor.execute(
                "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'sample'"
            ).fetchone()
            cursor.execute(
                "INSERT INTO sample (id, x, label, target, at, seal)"
                " SELECT ?1 + rowid, x, label, target, ?2, seal(?1 + rowid, x, label, target, ?2)"
                " FROM temp.incoming ORDER BY rowid",
                (last, time.time()),
            )
            stored = cursor.rowcount
            if kind != "given":
                cursor.execute("INSERT INTO label_source SELECT ? + rowid, ?, '' FROM temp.incoming", (last, kind))
            cursor.execute("DROP TABLE temp.incoming")
            cursor.execute(
                "DELETE FROM sample WHERE id <= (SELECT id FROM sample ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (max_samples,),
            )
            return stored

    def fit(self, classes: int) -> None:
        """Set aside samples whose label is not below `classes`, and use all others again; 0: set none aside."""
        row = (_CLASSES, float(classes or MAX_CLASSES))
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO measured VALUES (?1, ?2, seal(?1, ?2))", row)
        aside = self.set_aside()
        if aside:
            log.warning("samples that are set aside, as the model's classes end at %d: %d", classes - 1, aside)

    def count(self) -> int:
        """Number of samples, including those set aside."""
        return sum(self._counts().values())

    def set_aside(self) -> int:
        """Number of samples whose label the model does not have."""
        return self.count() - self.usable()

    def usable(self) -> int:
        """Number of samples that are not set aside."""
        return sum(self._usable_counts().values())

    def class_counts(self) -> tuple[int, ...]:
        """Number of samples of each class from 0 to the highest that occurs, for the first 10,000 classes at most."""
        counts = {label: count for label, count in self._usable_counts().items() if label < MAX_CLASS_COUNTS}
        return tuple(counts.get(label, 0) for label in range(max(counts, default=-1) + 1))

    def widths(self) -> Widths | None:
        """The widths of the samples (of the first one where they differ); None while there is none."""
        with self._database.reading() as cursor:
            return _widths(cursor.execute("SELECT length(x), length(target) FROM sample LIMIT 1").fetchone())

    def labels(self) -> tuple[int, ...]:
        """The labels of usable samples, ascending."""
        return tuple(sorted(self._usable_counts()))

    def repeated(self, newest: int) -> int:
        """How many of the `newest` samples equal an older one, label and all. Reads all, unless none is older."""
        older = self.count() - newest
        if not older:
            return 0
        seen: set[int] = set()
        repeated = 0
        with self._database.reading() as cursor:
            for place, sample in enumerate(cursor.execute("SELECT x, label, target FROM sample ORDER BY id")):
                digest = hash(sample)
                if place < older:
                    seen.add(digest)
                else:
                    repeated += digest in seen
        return repeated

    def damaged(self) -> int:
        """Number of samples found damaged, and removed, since the store was created."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT value FROM measured WHERE name = ?", (_DAMAGED,)).fetchone()
        return int(row[0]) if row else 0

    def snapshot(self, *, since: float | None = None) -> Snapshot:
        """The current usable samples; if given, only from the first one added at `since` (Unix time) or later."""
        with self._database.reading() as cursor:
            condition = _usable(cursor) + ("" if since is None else " AND at >= :since")
            query = f"SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM sample WHERE {condition}"  # noqa: S608
            first, last = cursor.execute(query, {"since": since}).fetchone()
        return Snapshot(first, last)

    def ids(self, snapshot: Snapshot, *, at_most: int = -1) -> list[int]:
        """The numbers of the snapshot's samples that are still there, ascending; the first `at_most`, or all."""
        with self._database.reading() as cursor:
            query = f"SELECT id FROM sample WHERE id BETWEEN ? AND ? AND {_usable(cursor)} ORDER BY id LIMIT ?"  # noqa: S608
            return [row[0] for row in cursor.execute(query, (*snapshot, at_most))]

    def newest_ids(self, *, up_to: int, count: int) -> list[int]:
        """The numbers of the newest `count` samples of those numbered `up_to` at most, ascending."""
        with self._database.reading() as cursor:
            query = f"SELECT id FROM sample WHERE id <= ? AND {_usable(cursor)} ORDER BY id DESC LIMIT ?"  # noqa: S608
            return [row[0] for row in cursor.execute(query, (up_to, count))][::-1]

    def load(self, ids: Sequence[int]) -> list[StoredRow]:
        """The samples numbered `ids`, in that order, without dropped and damaged ones."""
        found: dict[int, StoredRow] = {}
        damaged: list[int] = []
        with self._database.reading() as cursor:
            for start in range(0, len(ids), _VARIABLES):
                part = ids[start : start + _VARIABLES]
                marks = ",".join("?" * len(part))
                query = f"SELECT id, x, label, target, {_IS_SOUND} FROM sample WHERE id IN ({marks})"  # noqa: S608
                for *row, is_sound in cursor.execute(query, part):
                    if is_sound:
                        found[row[0]] = StoredRow(*row)
                    else:
                        damaged.append(row[0])
        if damaged:
            self._remove(damaged)
        return [found[id_] for id_ in ids if id_ in found]

    def _counts(self) -> dict[int, int]:
        """Number of samples by label, of labels that occur; recounted where a count was damaged."""
        query = "SELECT label, samples, seal IS seal(label, samples) FROM label_count"
        with self._database.reading() as cursor:
            rows = cursor.execute(query).fetchall()
        if not all(is_sound for *_, is_sound in rows):
            log.warning("the counts of samples were damaged on the disk; they are counted anew")
            with self._database.transaction() as cursor:
                _recount(cursor)
                rows = cursor.execute(query).fetchall()
        return {label: samples for label, samples, _ in rows if samples > 0}

    def _usable_counts(self) -> dict[int, int]:
        with self._database.reading() as cursor:
            end = _classes(cursor)
        return {label: samples for label, samples in self._counts().items() if label < end}

    def _remove(self, damaged: Sequence[int]) -> None:
        log.warning("%d samples were damaged on the disk; they are removed", len(damaged))
        with self._database.transaction() as cursor:
            cursor.executemany("DELETE FROM sample WHERE id = ?", [(id_,) for id_ in damaged])
            _recount(cursor)  # the label may be what was damaged, so that it differs from the one counted
            (known,) = cursor.execute(
                "SELECT max(0, total(value)) FROM measured WHERE name = ?", (_DAMAGED,)
            ).fetchone()
            row = (_DAMAGED, known + len(damaged))
            cursor.execute("INSERT OR REPLACE INTO measured VALUES (?1, ?2, seal(?1, ?2))", row)


def _classes(cursor: sqlite3.Cursor) -> int:
    """Number of classes of the model; the largest possible one before it is known."""
    query = "SELECT value FROM measured WHERE name = ? AND seal IS seal(name, value)"
    row = cursor.execute(query, (_CLASSES,)).fetchone()
    return int(row[0]) if row else MAX_CLASSES


def _usable(cursor: sqlite3.Cursor) -> str:
    """The condition on samples that are not set aside. Labels are read only where needed, as they are stored last."""
    classes = _classes(cursor)
    (highest,) = cursor.execute("SELECT max(label) FROM label_count WHERE samples > 0").fetchone()
    return "TRUE" if highest is None or highest < classes else f"label < {classes}"


def _recount(cursor: sqlite3.Cursor) -> None:
    cursor.execute("DELETE FROM label_count")
    sums = "label, count(*), seal(label, count(*))"
    cursor.execute(f"INSERT INTO label_count SELECT {sums} FROM sample WHERE {_IS_SOUND} GROUP BY label")  # noqa: S608


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
