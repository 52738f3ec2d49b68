"""How far the device has come in the meetings of its round."""

import logging
from collections.abc import Mapping

import msgspec

from coterie_agent.store.database import Database
from coterie_agent.store.work import TrainingProgress
from coterie_wire.meeting import Gathering
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)


class MeetingProgress(msgspec.Struct, frozen=True):
    """What the next part of the round starts with."""

    number: int
    """Of the next meeting."""
    progress: TrainingProgress
    """Of all parts so far."""
    steps_done: int
    steps_total: int
    gathering: Gathering
    """The newest that is known."""
    met: Mapping[str, int] = {}
    """By device, at how many meetings its share was heard."""
    far: Mapping[str, int] = {}
    """By device, at how many of them its model lay far off."""


class MeetingStore:
    """One row, which ends with the assignment."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> tuple[MeetingProgress, bytes] | None:
        """With the difference of the parameters from the version's, as safetensors. A damaged row is removed."""
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
        """A part of the round has ended; the checkpoint was of that."""
        row = (msgspec.json.encode(progress), difference)
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM checkpoint")
            cursor.execute("INSERT OR REPLACE INTO meeting VALUES (1, ?1, ?2, seal(?1, ?2))", row)
