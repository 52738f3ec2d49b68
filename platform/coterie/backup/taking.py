"""Makes a backup of the platform that these settings describe, whether it runs or not.

The database comes first: its rows say which files are needed. None of these is removed meanwhile, and none ever
changes, so that together they are the platform at one moment. Files that the target has already are not copied again.
The index, written last, makes the backup whole; until then the target holds the backup that it held before, if any.
"""

import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from django.db import connection

from coterie.backup.copying import DRAFT, copy_file, describe, is_sound, write_draft
from coterie.backup.database import changes, snapshot
from coterie.backup.index import INDEX, LOCK, BackupFile, Index, held, write_index
from coterie.backup.needed import Needed, key_files, needed_files
from coterie.core.file_removal import no_removal


class BackupProgress(NamedTuple):
    """How far a backup or a restoration is."""

    bytes_done: int
    bytes_total: int


class Taken(NamedTuple):
    """What a backup took."""

    backup: Index
    copied_bytes: int
    """Of files that the target did not have."""


Report = Callable[[BackupProgress], None]


def take_backup(*, target: Path, now: datetime, report: Report) -> Taken:
    """Copy the platform to `target`, and read everything there once more.

    Raises NotABackup, BackupInUse, DatabaseFailed or OSError.
    """
    with held(target), no_removal():
        draft = target / f"database-{secrets.token_hex(8)}{DRAFT}"
        with snapshot(draft):
            needed, changed = needed_files(), changes()
        copied = describe(draft, "")
        final = BackupFile(f"database-{copied.sha256[:16]}", copied.sha256, copied.size_bytes)
        draft.replace(target / final.path)
        work = _Work(target, report, sum(found.file.size_bytes for found in needed))
        sound = [found.file for found in needed if work.has(found)]
        index = Index(
            made_at=now.astimezone(UTC).isoformat(),
            version=version("coterie"),
            mode="scaled" if connection.vendor == "postgresql" else "embedded",
            changes=changed,
            database=final,
            files=(*_copy_keys(target), *sound),
            missing=tuple(found.file for found in needed if found.file not in set(sound)),
        )
        write_index(target, index)
        _remove_others(target, index)
    return Taken(index, copied.size_bytes + work.copied_bytes)


class _Work:
    """The copying of files, one after the other."""

    def __init__(self, target: Path, report: Report, total_bytes: int) -> None:
        self._target = target
        self._report = report
        self._total_bytes = total_bytes
        self._done_bytes = 0
        self.copied_bytes = 0

    def has(self, needed: Needed) -> bool:
        """Whether the target has the file, which is copied where it has not; the platform may have lost it."""
        file, path = needed.file, self._target / needed.file.path
        if is_sound(path, file):
            self._advance(file.size_bytes)
            return True
        with suppress(FileNotFoundError), needed.open() as source:
            if copy_file(source, path, file, self._advance):
                self.copied_bytes += file.size_bytes
                return True
        return False

    def _advance(self, size_bytes: int) -> None:
        self._done_bytes += size_bytes
        self._report(BackupProgress(self._done_bytes, self._total_bytes))


def _copy_keys(target: Path) -> list[BackupFile]:
    """Keys do not change by themselves; one that an operator replaced is copied anew."""
    found = []
    for key in key_files():
        with key.open("rb") as source:
            draft = write_draft(source, target / key.name, lambda _size_bytes: None)
        draft.replace(target / key.name)
        found.append(describe(target / key.name, key.name))
    return found


def _remove_others(target: Path, index: Index) -> None:
    """Remove what an earlier backup needed and this one does not, and what was left half-written."""
    kept = {INDEX, LOCK, *(file.path for file in (index.database, *index.files))}
    for path in sorted(target.rglob("*"), reverse=True):  # what is in a directory before the directory
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(target).as_posix() not in kept:
            path.unlink()
