"""Checksums ("seals") of rows: flash memory loses bits, and SQLite does not detect that.

A row that decides what the device does ends with ``seal(its other columns)``, which SQLite computes by this function
when the row is written and when it is read; a row whose seal does not match is not used.
"""

import hashlib
import logging
import sqlite3
import struct
from typing import TypeAlias

log = logging.getLogger(__name__)

SEAL_BYTES = 8
Value: TypeAlias = bytes | str | int | float | None


def seal(*values: Value) -> bytes:
    """BLAKE2b of the values with their types and lengths."""
    digest = hashlib.blake2b(digest_size=SEAL_BYTES)
    for value in values:
        content = _content(value)
        digest.update(struct.pack("<sQ", type(value).__name__[:1].encode(), len(content)))
        digest.update(content)
    return digest.digest()


def teach_sqlite(connection: sqlite3.Connection) -> None:
    """Make `seal` available to the SQL statements of `connection`."""
    connection.create_function("seal", -1, seal, deterministic=True)


def _content(value: Value) -> bytes:
    match value:
        case bytes():
            return value
        case str():
            return value.encode("utf-8", "surrogatepass")
        case float():
            return struct.pack("<d", value)
        case None:
            return b""
        case _:
            return str(value).encode()
