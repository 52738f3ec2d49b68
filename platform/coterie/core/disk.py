"""How to recognise a full disk."""

import errno
import re

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
