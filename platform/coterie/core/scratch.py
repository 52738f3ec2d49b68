"""Temporary directories that are removed even if the process is killed which made them: by the next that makes one.

Each holds a file that its process has locked, and the system unlocks when that process ends, whatever ends it. Process
numbers would not do: they are given again, and mean nothing in another container that shares the directory.
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
    """A directory of this process's own, until the block ends."""
    sweep_once(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{purpose}-") as name:
        lock = hold(Path(name))
        try:
            yield Path(name)
        finally:
            os.close(lock)


def hold(directory: Path) -> int:
    """Mark `directory` as one that this process uses, as long as the descriptor stays open that is returned."""
    draft = directory / f"{HELD}-{os.getpid()}"
    descriptor = os.open(draft, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    draft.rename(directory / HELD)  # nobody finds it before it is locked
    return descriptor


def is_abandoned(directory: Path) -> bool:
    """Whether a process held `directory`, one of this user, and has ended."""
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
    """Remove what processes that were killed have left in `root`; once a process."""
    with suppress(OSError):
        for found in root.glob(f"{PREFIX}*"):
            if is_abandoned(found):
                shutil.rmtree(found, ignore_errors=True)
