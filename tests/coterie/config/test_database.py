from pathlib import Path

import pytest
from django.db import connection
from django.db.utils import ConnectionHandler
from psycopg_pool import PoolTimeout

from coterie.config.database import postgresql, sqlite
from coterie.config.pooled_postgresql.base import DatabaseWrapper


def test_reads_a_url_with_escapes() -> None:
    described = postgresql("postgresql://ada:p%40ss@db.example:5433/coterie")
    assert [described[name] for name in ("USER", "PASSWORD", "HOST", "PORT", "NAME")] == [
        "ada",
        "p@ss",
        "db.example",
        "5433",
        "coterie",
    ]


def test_parameters_of_a_url_are_libpqs() -> None:
    options = postgresql("postgresql://ada@/coterie?sslmode=verify-full&host=%2Frun%2Fpg&connect_timeout=9")["OPTIONS"]
    assert isinstance(options, dict)
    assert (options["sslmode"], options["host"], options["connect_timeout"]) == ("verify-full", "/run/pg", "9")


def test_a_server_that_cannot_be_reached_is_told_with_the_cause() -> None:
    described = postgresql("postgresql://ada@127.0.0.1:1/coterie")
    options = described["OPTIONS"]
    assert isinstance(options, dict)
    soon = {**described, "OPTIONS": {**options, "pool": {**options["pool"], "timeout": 1}}}
    apart = ConnectionHandler({"default": {}, "apart": soon})["apart"]
    assert isinstance(apart, DatabaseWrapper)
    try:
        with pytest.raises(PoolTimeout, match=r"port 1 failed: Connection refused"):
            apart.get_new_connection(apart.get_connection_params())
    finally:
        apart.close_pool()


def test_keeps_no_connection_and_locks_at_the_start() -> None:
    described = sqlite(Path("/srv/coterie.sqlite3"))
    assert described["CONN_MAX_AGE"] == 0
    assert described["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


@pytest.mark.django_db
def test_what_is_committed_survives_a_power_cut() -> None:
    with connection.cursor() as cursor:
        found = {name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")}
    assert found == {"journal_mode": "wal", "synchronous": 2}
