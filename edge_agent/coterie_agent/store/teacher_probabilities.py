"""The teacher's probabilities for the device's samples: asked once, kept as float16 until another teacher comes."""

from collections.abc import Mapping, Sequence

from coterie_agent.store.database import Database

_VARIABLES = 500  # of one statement; SQLite's limit was 999 before 3.32


class TeacherProbabilitiesStore:
    """Those of one version of the cloud model; a sample that goes takes its own along."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, version: str) -> None:
        """Forget those of other versions."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM teacher_probabilities WHERE version <> ?", (version,))

    def unasked(self, version: str, ids: Sequence[int]) -> list[int]:
        """Those of the samples numbered `ids` that `version` has not been asked about, in their order."""
        with self._database.reading() as cursor:
            asked = {
                row[0]
                for row in cursor.execute("SELECT sample FROM teacher_probabilities WHERE version = ?", (version,))
            }
        return [id_ for id_ in ids if id_ not in asked]

    def keep(self, version: str, found: Mapping[int, bytes]) -> None:
        """What `version` gives for each sample: float16 probabilities. Samples that have gone are passed over."""
        with self._database.transaction() as cursor:
            cursor.executemany(
                "INSERT OR REPLACE INTO teacher_probabilities SELECT ?, id, ? FROM sample WHERE id = ?",
                [(version, probabilities, id_) for id_, probabilities in found.items()],
            )

    def load(self, version: str, ids: Sequence[int]) -> Mapping[int, bytes]:
        """What `version` gave for the samples numbered `ids`."""
        found: dict[int, bytes] = {}
        with self._database.reading() as cursor:
            for start in range(0, len(ids), _VARIABLES):
                part = ids[start : start + _VARIABLES]
                marks = ",".join("?" * len(part))
                query = (
                    f"SELECT sample, probabilities FROM teacher_probabilities WHERE version = ? AND sample IN ({marks})"  # noqa: S608
                )
                found.update(cursor.execute(query, (version, *part)).fetchall())
        return found
