"""Temporary directories that are removed even if their process is killed: by the next process that creates one.

Each contains a file that its process has locked; the system releases the lock when that process ends, however it ends.
Process numbers would not do: they are reused, and mean nothing in another container that shares the directory.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

HELD = ".held"
PREFIX = "coterie-"


@contextmanager
def scratch_directory(purpose: str) -> Iterator[Path]:
    """A directory of this process, until the block ends."""
    sweep_once(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{purpose}-") as name:
        lock = hold(Path(name))
        try:
            yield Path(name)
        finally:
            os.close(lock)


def hold(directory: Path) -> int:
    """Mark `directory` as used by this process, as long as the returned descriptor stays open."""
    draft = directory / f"{HELD}-{os.getpid()}"
    descriptor = os.open(draft, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    draft.rename(directory / HELD)  # no other process finds it before it is locked
    return descriptor


def is_abandoned(directory: Path) -> bool:
    """Whether a process of this user held `directory`, and has ended."""
    try:
        if directory.is_symlink() or directory.stat().st_uid != os.geteuid():
            return False
        descriptor = os.open(directory / HELD, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


@cache
def sweep_once(root: Path) -> None:
    """Remove the directories of killed processes from `root`; once per process."""
    with suppress(OSError):
        for found in root.glob(f"{PREFIX}*"):
            if is_abandoned(found):
                shutil.rmtree(found, ignore_errors=True)
