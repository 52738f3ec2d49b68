"""The teacher's probabilities for the device's samples: computed once, stored as float16 until the teacher changes."""

import logging
from collections.abc import Mapping, Sequence

from coterie_agent.store.database import Database

_IS_SOUND = "seal IS seal(version, sample, probabilities)"
log = logging.getLogger(__name__)
_VARIABLES = 500  # of one statement; SQLite's limit was 999 before 3.32


class TeacherProbabilitiesStore:
    """The probabilities of one version of the cloud model; those of a sample are removed with it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, version: str) -> None:
        """Remove those of other versions."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM teacher_probabilities WHERE version <> ?", (version,))

    def missing(self, version: str, ids: Sequence[int]) -> list[int]:
        """Numbers among `ids` of samples for which `version` has no probabilities yet, in their order.

        Damaged rows are removed, and so are missing.
        """
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM teacher_probabilities WHERE seal IS NOT seal(version, sample, probabilities)")
            if cursor.rowcount:
                log.warning("%d stored answers of the teacher were damaged; it is asked again", cursor.rowcount)
        with self._database.reading() as cursor:
            stored = {
                row[0]
                for row in cursor.execute("SELECT sample FROM teacher_probabilities WHERE version = ?", (version,))
            }
        return [id_ for id_ in ids if id_ not in stored]

    def keep(self, version: str, found: Mapping[int, bytes]) -> None:
        """Store the float16 probabilities of `version` for each sample. Samples that were removed are skipped."""
        with self._database.transaction() as cursor:
            cursor.executemany(
                "INSERT OR REPLACE INTO teacher_probabilities"
                " SELECT ?1, id, ?2, seal(?1, id, ?2) FROM sample WHERE id = ?3",
                [(version, probabilities, id_) for id_, probabilities in found.items()],
            )

    def load(self, version: str, ids: Sequence[int]) -> Mapping[int, bytes]:
        """The probabilities of `version` for the samples numbered `ids`."""
        found: dict[int, bytes] = {}
        with self._database.reading() as cursor:
            for start in range(0, len(ids), _VARIABLES):
                part = ids[start : start + _VARIABLES]
                marks = ",".join("?" * len(part))
                condition = f"version = ? AND sample IN ({marks}) AND {_IS_SOUND}"
                query = f"SELECT sample, probabilities FROM teacher_probabilities WHERE {condition}"  # noqa: S608
                found.update(cursor.execute(query, (version, *part)).fetchall())
        return found
