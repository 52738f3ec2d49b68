"""Creates a platform from a backup, in an empty state directory; an interrupted restoration is resumed.

The backup is not trusted: each file is hashed while it is copied. The database comes last, so that a directory with a
database is a whole platform.
"""

import os
from pathlib import Path

from django.conf import settings
from django.core.files.base import File

from coterie.backup.copying import copy_file, is_sound
from coterie.backup.database import check_empty, restore_server
from coterie.backup.errors import DamagedBackup, NewerBackup, OlderBackup, OtherMode, StateExists
from coterie.backup.index import BackupFile, Index, read_index
from coterie.backup.taking import BackupProgress, Report
from coterie.config.exclusive import lock_state
from coterie.config.schema import lacking_changes, unknown_changes
from coterie.storage.interface import Store, store_of

DATABASE = "coterie.sqlite3"
BEGUN = "restoring"
"""Contains the hash of the database of the backup that is being restored."""


def restore_backup(*, source: Path, state: Path, mode: str, report: Report) -> Index:
    """Make the state directory `state` of the backup in `source`; nobody runs a platform there meanwhile.

    Raises NotABackup, Incomplete, UnknownFormat, OtherMode, NewerBackup, OlderBackup, StateExists, DatabaseNotEmpty,
    DamagedBackup, DatabaseFailed, StateInUse or OSError.
    """
    index = read_index(source)
    if index.mode != mode:
        raise OtherMode(made_in=index.mode, mode=mode)
    if unknown := unknown_changes(index.changes):
        raise NewerBackup(changes=unknown)
    if lacking := lacking_changes(index.changes):
        raise OlderBackup(changes=lacking)
    _check_new(state, index)
    check_empty()
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = lock_state(state)
    try:
        _bring_all(index, source, state, report)
    finally:
        os.close(lock)
    return index


def _bring_all(index: Index, source: Path, state: Path, report: Report) -> None:
    (state / BEGUN).write_text(index.database.sha256)
    work = _Work(source, state, report, sum(file.size_bytes for file in (index.database, *index.files)))
    for file in index.files:
        work.bring(file, file.path)
    if index.mode == "embedded":
        work.bring(index.database, DATABASE)
    else:
        work.check(index.database)
        restore_server(source / index.database.path)
    (state / BEGUN).unlink()


class _Work:
    """The copying of files, one after the other."""

    def __init__(self, source: Path, state: Path, report: Report, total_bytes: int) -> None:
        self._source = source
        self._state = state
        self._report = report
        self._total_bytes = total_bytes
        self._done_bytes = 0

    def bring(self, file: BackupFile, name: str) -> None:
        """Copy a file to the state, or to the object storage, unless it is there. Raises DamagedBackup."""
        kept = _object_of(name)
        if kept is not None:
            self._bring_object(file, *kept)
            return
        path = self._state / name
        if is_sound(path, file):
            self._advance(file.size_bytes)
            return
        try:
            with (self._source / file.path).open("rb") as source:
                copied = copy_file(source, path, file, self._advance)
        except FileNotFoundError:
            copied = False
        if not copied:
            raise DamagedBackup(file=file.path)

    def _bring_object(self, file: BackupFile, store: Store, name: str) -> None:
        if not is_sound(self._source / file.path, file):
            raise DamagedBackup(file=file.path)
        with (self._source / file.path).open("rb") as source:
            store.save(name, File(source))
        self._advance(file.size_bytes)

    def check(self, file: BackupFile) -> None:
        """Raises DamagedBackup."""
        if not is_sound(self._source / file.path, file):
            raise DamagedBackup(file=file.path)
        self._advance(file.size_bytes)

    def _advance(self, size_bytes: int) -> None:
        self._done_bytes += size_bytes
        self._report(BackupProgress(self._done_bytes, self._total_bytes))


def _object_of(place: str) -> tuple[Store, str] | None:
    """The store, and the name in it, to which a backup's file belongs; None: it is a file of the state."""
    name = place.partition("/")[2]
    for store in map(store_of, settings.STORES):
        if store.place(name) == place:
            try:
                store.path(name)
            except NotImplementedError:
                return store, name
    return None


def _check_new(state: Path, index: Index) -> None:
    """Raises StateExists where there is anything except the leftovers of an earlier attempt with the same backup."""
    if not state.is_dir() or {path.name for path in state.iterdir()} <= {"lock"}:
        return
    begun = state / BEGUN
    if not begun.exists() or begun.read_text() != index.database.sha256:
        raise StateExists(directory=str(state))
