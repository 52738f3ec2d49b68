"""Temporary files for large bodies: separate from the platform's state, within a quota, removed with the process."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.scratch import hold, is_abandoned

CHECK_EVERY_BYTES = 16 << 20
KEEP_FREE_BYTES = 256 << 20
ROOT = f"coterie-spool-{os.geteuid()}-"
"""The prefix of this user's directories in the system's temporary directory."""


class SpoolFull(CoterieError):
    """Concurrent uploads have used up the quota."""

    code = "gateway.spool_full"
    kind = ErrorKind.UNAVAILABLE
    sentence = "There is no room for another upload now; try again when those under way have ended."


class Quota:
    """Bytes of all bodies of this process. Used on the event loop's thread only."""

    def __init__(self, limit_bytes: int, directory: Path) -> None:
        self._limit = limit_bytes
        self._directory = directory
        self._taken = 0
        self._unchecked_bytes = 0

    def take(self, size_bytes: int) -> None:
        """Reserve room for so many bytes. Raises SpoolFull."""
        if self._taken + size_bytes > self._limit:
            raise SpoolFull
        self._unchecked_bytes += size_bytes
        if self._unchecked_bytes > CHECK_EVERY_BYTES:
            self._unchecked_bytes = 0
            if shutil.disk_usage(self._directory).free < KEEP_FREE_BYTES:
                raise SpoolFull
        self._taken += size_bytes

    def give_back(self, size_bytes: int) -> None:
        """Release so many bytes."""
        self._taken -= size_bytes


def make_directory(directory: Path) -> None:
    """This process's own directory; those of ended processes are removed, also of other state directories.

    Raises OSError where another user owns its parent, and could read or replace the files in it.
    """
    parent = directory.parent
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if parent.is_symlink() or parent.stat().st_uid != os.geteuid():
        raise PermissionError(f"{parent} belongs to somebody else; name another directory in COTERIE_SPOOL")
    for old in parent.iterdir():
        if not (old.name.isdecimal() and _runs(int(old.name))):
            shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)
    parent.mkdir(mode=0o700, exist_ok=True)  # another process may have removed it while it was empty
    directory.mkdir(mode=0o700)
    hold(directory)  # until the process ends
    if parent.name.startswith(ROOT):
        _sweep_others(parent)


def _sweep_others(parent: Path) -> None:
    """State directories that were deleted never start again, so any platform of the same user removes their
    leftovers.
    """
    for other in parent.parent.glob(f"{ROOT}*"):
        with suppress(OSError):  # another user's, or used again meanwhile
            for directory in other.iterdir() if other != parent and not other.is_symlink() else ():
                if is_abandoned(directory):
                    shutil.rmtree(directory, ignore_errors=True)
            other.rmdir()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it belongs to a running process
    return True


def remove_directory(directory: Path) -> None:
    """Remove the directory of a process that has ended."""
    shutil.rmtree(directory, ignore_errors=True)
    with suppress(OSError):  # other processes have directories in it
        directory.parent.rmdir()


def default_root(state: Path) -> Path:
    """Path for this user and state in the system's temporary directory."""
    name = "-".join(part for part in state.parts if part.strip("/"))[-80:]
    return Path(tempfile.gettempdir(), ROOT + name)
