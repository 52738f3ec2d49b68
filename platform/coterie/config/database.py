"""The database of each mode, in the form of Django's settings."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL;"  # readers and the writer do not wait for each other
    # NORMAL survives kill -9, and a power cut takes its last commits; an acknowledged update must not be lost
    "PRAGMA synchronous=FULL;"
    "PRAGMA cache_size=-20000;"  # kibibytes
    "PRAGMA mmap_size=134217728;"
    "PRAGMA journal_size_limit=67108864;"
)


def sqlite(path: Path) -> Mapping[str, object]:
    """One file. Transactions lock at their start: one that reads first and writes later fails as "locked"."""
    return {
        "ENGINE": "coterie.config.queued_sqlite",
        "NAME": path,
        "CONN_MAX_AGE": 0,
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": SQLITE_PRAGMAS},
        # A file also in tests: several threads cannot share an in-memory database without sharing its one connection.
        "TEST": {"NAME": path.with_name("test.sqlite3")},
    }


def postgresql(url: str) -> Mapping[str, object]:
    """A server, through Django's pool: persistent connections per thread exhaust it under ASGI.

    What follows ``?`` are libpq's own parameters, as ``sslmode=verify-full``.
    """
    from coterie.config.pooled_postgresql.base import ToldConnection  # embedded mode needs no libpq

    parts = urlsplit(url)
    return {
        "ENGINE": "coterie.config.pooled_postgresql",
        "NAME": unquote(parts.path.removeprefix("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,
        # The gateway keeps eight; the rest serve the site's requests and Celery's tasks. Whoever waits longer for
        # one is told that the database is away, and it is asked whether it is.
        "OPTIONS": {
            "connect_timeout": 5,
            **dict(parse_qsl(parts.query)),
            "pool": {"min_size": 1, "max_size": 20, "timeout": 5, "connection_class": ToldConnection},
        },
    }
