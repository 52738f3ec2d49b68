"""What the disk needs: how to recognise a full one, and how to make a rename durable."""

import errno
import os
import re
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NUMPY = re.compile(r"\d+ requested and \d+ written")
"""NumPy's message in place of the error number."""


DATABASE = ("disk is full", "No space left on device")
"""The messages of SQLite and PostgreSQL."""


def is_full(error: Exception) -> bool:
    """Whether something could not be written because the disk, or the user's share of it, is full."""
    if not isinstance(error, OSError):
        return any(words in str(error) for words in DATABASE)
    return error.errno in NO_ROOM or (error.errno is None and NUMPY.search(str(error)) is not None)


def sync_directory(directory: Path) -> None:
    """Make renames in `directory` survive power loss."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
