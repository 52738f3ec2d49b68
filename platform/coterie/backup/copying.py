"""Copies files with a check of the content: whole and as named, or not at all."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from coterie.backup.index import BackupFile
from coterie.core.disk import sync_directory

DRAFT = ".draft"
CHUNK_BYTES = 1 << 20
Advance = Callable[[int], None]
"""Called with the number of further bytes."""


def is_sound(path: Path, file: BackupFile) -> bool:
    """Whether the file at `path` is `file`."""
    try:
        if path.stat().st_size != file.size_bytes:
            return False
        with path.open("rb") as found:
            return hashlib.file_digest(found, "sha256").hexdigest() == file.sha256
    except FileNotFoundError:
        return False


def copy_file(source: BinaryIO, target: Path, file: BackupFile, advance: Advance) -> bool:
    """Write `source` to `target`, durably; False, and nothing there, if it is not `file`."""
    draft = write_draft(source, target, advance)
    if not is_sound(draft, file):
        draft.unlink()
        return False
    draft.replace(target)
    sync_directory(target.parent)
    return True


def write_draft(source: BinaryIO, target: Path, advance: Advance) -> Path:
    """A durable copy of `source` beside `target`, which only its user can read."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = target.with_name(target.name + DRAFT)
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
        while chunk := source.read(CHUNK_BYTES):
            written.write(chunk)
            advance(len(chunk))
        written.flush()
        os.fsync(written.fileno())
    return draft


def describe(path: Path, name: str) -> BackupFile:
    """The file at `path`, which the backup calls `name`."""
    with path.open("rb") as found:
        sha256 = hashlib.file_digest(found, "sha256").hexdigest()
    return BackupFile(name, sha256, path.stat().st_size)
