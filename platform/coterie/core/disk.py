"""How a full disk shows."""

import errno
import re

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NUMPY = re.compile(r"\d+ requested and \d+ written")
"""What NumPy says in place of the number."""


DATABASE = ("disk is full", "No space left on device")
"""What SQLite and PostgreSQL say."""


def is_full(error: Exception) -> bool:
    """Whether something could not be written because the disk, or the user's share of it, is full."""
    if not isinstance(error, OSError):
        return any(words in str(error) for words in DATABASE)
    return error.errno in NO_ROOM or (error.errno is None and NUMPY.search(str(error)) is not None)
