"""Event files for TensorBoard: a folder a federation, a file a round, so that a file is there whole or not at all."""

import os
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.record_writer import RecordWriter

from coterie.core.disk import sync_directory
from coterie.exports.errors import NotTaken
from coterie.exports.interface import RoundFact

FILE_VERSION = "brain.Event:2"


class TensorBoard:
    """Writes below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def export(self, rounds: Sequence[RoundFact]) -> None:
        """A file each, named by the round; TensorBoard reads them in the order of their names. Raises NotTaken."""
        try:
            for fact in rounds:
                self._write(fact)
        except OSError as error:
            raise NotTaken(exporter="tensorboard", why=f"{error.filename}: {error.strerror}") from error

    def _write(self, fact: RoundFact) -> None:
        folder = self._folder / fact.slug
        folder.mkdir(parents=True, exist_ok=True)
        at = fact.finished_at.timestamp()
        draft = folder / f"round-{fact.number}.part"  # TensorBoard reads files with "tfevents" in their names
        values = [Summary.Value(tag=name, simple_value=value) for name, value in sorted(fact.figures.items())]
        writer = RecordWriter(str(draft))
        writer.write(Event(wall_time=at, file_version=FILE_VERSION).SerializeToString())
        writer.write(Event(wall_time=at, step=fact.number, summary=Summary(value=values)).SerializeToString())
        writer.close()
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(folder / f"events.out.tfevents.{int(at):010d}.round-{fact.number:08d}")
        sync_directory(folder)


def exporter() -> TensorBoard:
    """That of the settings."""
    return TensorBoard(settings.TENSORBOARD_DIR)
