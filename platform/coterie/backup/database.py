"""The database as one file: SQLite by its online backup, PostgreSQL by pg_dump of a snapshot that is held meanwhile."""

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg.conninfo import make_conninfo

from coterie.backup.errors import DatabaseFailed, DatabaseNotEmpty
from coterie.config.env import child_environment

Changes = tuple[tuple[str, str], ...]


@contextmanager
def snapshot(target: Path) -> Iterator[None]:
    """Write the database as it is now to `target`; in the block it is read as it was then.

    Nobody who writes to the database waits. Raises DatabaseFailed.
    """
    target.unlink(missing_ok=True)
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SELECT pg_export_snapshot()")
            (name,) = cursor.fetchone()
            _postgresql("pg_dump", "--format=custom", "--no-owner", f"--snapshot={name}", f"--file={target}")
            target.chmod(0o600)
            yield
    else:
        connection.ensure_connection()
        raw: sqlite3.Connection = connection.connection
        raw.execute("BEGIN")  # not Django's, which would lock out who writes
        try:
            _copy_sqlite(raw, target)
            yield
        finally:
            raw.execute("ROLLBACK")


def changes() -> Changes:
    """What was changed in the tables."""
    return tuple(sorted(MigrationRecorder(connection).applied_migrations()))


def check_empty() -> None:
    """Raises DatabaseNotEmpty where PostgreSQL has tables already; a file is made anew."""
    if connection.vendor == "postgresql" and connection.introspection.table_names():
        raise DatabaseNotEmpty(database=str(connection.settings_dict["NAME"]))


def restore_server(dump: Path) -> None:
    """Write what `dump` holds to the empty PostgreSQL database of the settings, or nothing. Raises DatabaseFailed."""
    _postgresql("pg_restore", "--no-owner", "--single-transaction", str(dump))


def _copy_sqlite(source: sqlite3.Connection, target: Path) -> None:
    target.touch(mode=0o600)
    with closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, and no log beside it
        ((verdict, *_), *_) = copy.execute("PRAGMA integrity_check(1)").fetchall()
    if verdict != "ok":
        raise DatabaseFailed(problem=f"it is damaged: {verdict}")


def _postgresql(program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL's on the database of the settings."""
    if shutil.which(program) is None:
        raise DatabaseFailed(problem=f"{program} is not installed here; it comes with PostgreSQL's client programs.")
    given = connection.settings_dict
    environment = {**child_environment(), "PGPASSWORD": given["PASSWORD"]}
    command = [program, f"--dbname={_address()}", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DatabaseFailed(problem=done.stderr.strip()[-400:] or f"{program} ended with {done.returncode}")


def _address() -> str:
    """Of the database of the settings, as libpq takes it; without the password, which whoever lists processes reads."""
    given = connection.settings_dict
    parameters = {
        "dbname": given["NAME"],
        "host": given["HOST"],
        "port": given["PORT"],
        "user": given["USER"],
        **{name: value for name, value in given["OPTIONS"].items() if name != "pool"},
    }
    return make_conninfo("", **{name: value for name, value in parameters.items() if value})
