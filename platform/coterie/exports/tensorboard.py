"""Event files for TensorBoard: a folder a federation, a file a round, so that a file is there whole or not at all."""

import os
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from coterie.core.disk import sync_directory
from coterie.exports.errors import NotTaken
from coterie.exports.event_files import event_file
from coterie.exports.interface import RoundFact


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
        with draft.open("wb") as file:
            file.write(event_file(wall_time=at, step=fact.number, values=dict(sorted(fact.figures.items()))))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / f"events.out.tfevents.{int(at):010d}.round-{fact.number:08d}")
        sync_directory(folder)


def exporter() -> TensorBoard:
    """That of the settings."""
    return TensorBoard(settings.TENSORBOARD_DIR)
