"""Files are removed while nobody copies them: a backup and the removal of what is not needed exclude each other.

The lock ends with the process that holds it, so that a killed backup stops nobody: with PostgreSQL it is the
database's, which all processes share, else the operating system's.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

LOCK = "removal.lock"
LOCK_NUMBER = 0x636F746572696501
"""Of the advisory lock: the platform's name, and a number."""


@contextmanager
def no_removal() -> Iterator[None]:
    """Nothing is removed while the block lasts; what is being removed is waited for."""
    with _held(exclusive=False):
        yield


@contextmanager
def removal() -> Iterator[bool]:
    """Whether files may be removed in the block; False while a backup copies them."""
    with _held(exclusive=True) as held:
        yield held


def _held(*, exclusive: bool) -> AbstractContextManager[bool]:
    return _database_lock(exclusive) if connection.vendor == "postgresql" else _file_lock(exclusive)


@contextmanager
def _file_lock(exclusive: bool) -> Iterator[bool]:
    descriptor = os.open(Path(settings.STATE) / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


@contextmanager
def _database_lock(exclusive: bool) -> Iterator[bool]:
    """On a connection of its own: that of this thread may be closed and opened in the block."""
    apart = connection.copy()
    kind = "" if exclusive else "_shared"
    try:
        with apart.cursor() as cursor:
            # What removes does not wait for a backup; a backup waits until what is being removed is gone.
            cursor.execute(f"SELECT pg_{'try_' if exclusive else ''}advisory_lock{kind}(%s)", [LOCK_NUMBER])
            held = cursor.fetchone()[0] is not False
        try:
            yield held
        finally:
            if held:
                with apart.cursor() as cursor:
                    cursor.execute(f"SELECT pg_advisory_unlock{kind}(%s)", [LOCK_NUMBER])
    finally:
        apart.close()
