"""Files are removed while nobody copies them: a backup and the removal of what is not needed exclude each other.

The lock is the operating system's, so that a killed backup stops nobody; all processes share the state directory.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

LOCK = "removal.lock"


@contextmanager
def no_removal() -> Iterator[None]:
    """Nothing is removed while the block lasts; what is being removed is waited for."""
    descriptor = _open()
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def removal() -> Iterator[bool]:
    """Whether files may be removed in the block; False while a backup copies them."""
    descriptor = _open()
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _open() -> int:
    return os.open(Path(settings.STATE) / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
