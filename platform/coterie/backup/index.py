"""The parts of a backup: an index that is written last, and the files that it names, with their paths in the state."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie.backup.errors import BackupInUse, DamagedBackup, Incomplete, NotABackup, UnknownFormat
from coterie.core.disk import sync_directory
from coterie_wire.structs import from_json

INDEX = "backup.json"
LOCK = "lock"


class BackupFile(msgspec.Struct, frozen=True):
    """One file."""

    path: Annotated[str, Meta(pattern=r"^(?!/)(?!(.*/)?\.\.(/|$))")]
    """Below the backup's directory and, but for the database, below the state directory, never outside: with forward
    slashes."""
    sha256: str
    size_bytes: int


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """A whole backup."""

    format: Literal[1] = 1
    made_at: str
    """ISO 8601, in UTC."""
    version: str
    """Of Coterie."""
    mode: Literal["embedded", "scaled"]
    changes: tuple[tuple[str, str], ...]
    """Those made to the tables, by app and name, in alphabetical order."""
    database: BackupFile
    files: tuple[BackupFile, ...]
    missing: tuple[BackupFile, ...] = ()
    """Files that the platform itself had lost, or had damaged, when they were copied."""


def read_index(directory: Path) -> Index:
    """Raises NotABackup, Incomplete, DamagedBackup or UnknownFormat."""
    try:
        content = (directory / INDEX).read_bytes()
    except FileNotFoundError as error:
        begun = (directory / LOCK).exists()
        raise (Incomplete if begun else NotABackup)(directory=str(directory)) from error
    try:
        return from_json(content, Index)
    except msgspec.ValidationError as error:
        raise UnknownFormat(directory=str(directory)) from error
    except msgspec.DecodeError as error:
        raise DamagedBackup(file=INDEX) from error


def write_index(directory: Path, index: Index) -> None:
    """Write `index` as the backup's, atomically and durably."""
    draft = directory / f"{INDEX}.draft"
    with draft.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(index)))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory / INDEX)
    sync_directory(directory)


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Lock the directory for one backup at a time; created if needed. Raises NotABackup or BackupInUse."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (directory / LOCK).exists() and any(directory.iterdir()):
        raise NotABackup(directory=str(directory))
    descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise BackupInUse(directory=str(directory)) from error
    finally:
        os.close(descriptor)
