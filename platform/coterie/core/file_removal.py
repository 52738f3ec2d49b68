"""Files are removed while nothing copies them: a backup and the removal of unneeded files exclude each other.

The lock ends with the process that holds it, so that a killed backup blocks nothing: with PostgreSQL it is a lock of
the database, which all processes share, else one of the operating system.
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
    """Exclude removals within the block; waits for one that is running."""
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
    """On its own connection: this thread's may be closed and opened within the block."""
    apart = connection.copy()
    kind = "" if exclusive else "_shared"
    try:
        with apart.cursor() as cursor:
            # A removal does not wait for a backup; a backup waits until a running removal has ended.
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
