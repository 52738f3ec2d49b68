"""The device's progress through the gossip meetings of its round."""

import logging
from collections.abc import Mapping

import msgspec

from coterie_agent.store.database import Database
from coterie_agent.store.work import TrainingProgress
from coterie_wire.meeting import Gathering
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)


class MeetingProgress(msgspec.Struct, frozen=True):
    """The state from which the next part of the round starts."""

    number: int
    """Number of the next meeting."""
    progress: TrainingProgress
    """Training progress over all parts so far."""
    steps_done: int
    steps_total: int
    gathering: Gathering
    """The newest gathering received."""
    met: Mapping[str, int] = {}
    """By device, the number of meetings at which its share was received."""
    far: Mapping[str, int] = {}
    """By device, the number of those meetings at which its model was far from the others."""


class MeetingStore:
    """One row, which is deleted with the assignment."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> tuple[MeetingProgress, bytes] | None:
        """The progress, and the parameters minus the version's as safetensors; a damaged row is removed."""
        with self._database.reading() as cursor:
            row = cursor.execute(
                "SELECT progress, difference, seal IS seal(progress, difference) FROM meeting"
            ).fetchone()
        if row is None:
            return None
        progress, difference, is_sound = row
        if not is_sound:
            log.warning("what the device has learned with its peers was damaged on the disk; the round begins anew")
            with self._database.transaction() as cursor:
                cursor.execute("DELETE FROM meeting")
                cursor.execute("DELETE FROM checkpoint")
            return None
        return from_json(progress, MeetingProgress), difference

    def save(self, progress: MeetingProgress, difference: bytes) -> None:
        """Store the progress after a part of the round, and delete that part's checkpoint."""
        row = (msgspec.json.encode(progress), difference)
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM checkpoint")
            cursor.execute("INSERT OR REPLACE INTO meeting VALUES (1, ?1, ?2, seal(?1, ?2))", row)
