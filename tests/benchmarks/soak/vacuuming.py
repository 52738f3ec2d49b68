"""Autovacuum where the server has it switched off: without it every table that is updated grows for ever."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

EVERY_S = 60.0
"""PostgreSQL's ``autovacuum_naptime``."""
DUE = """
SELECT stats.relname FROM pg_stat_user_tables stats JOIN pg_class class ON class.oid = stats.relid
WHERE n_dead_tup > 50 + 0.2 * greatest(reltuples, 0) OR n_ins_since_vacuum > 1000 + 0.2 * greatest(reltuples, 0)
    OR n_mod_since_analyze > 50 + 0.1 * greatest(reltuples, 0)
"""
"""What PostgreSQL's own would look at, by the thresholds that it has by itself."""


@contextmanager
def vacuumed(database: str) -> Iterator[None]:
    """Does what the server does not, once a minute; nothing where it does."""
    with psycopg.connect(database, autocommit=True) as session:
        row = session.execute("SHOW autovacuum").fetchone()
        if row == ("on",):
            yield
            return
        ended = threading.Event()
        working = threading.Thread(target=_work, args=(session, ended))
        working.start()
        try:
            yield
        finally:
            ended.set()
            working.join()


def _work(session: "psycopg.Connection[tuple[str]]", ended: threading.Event) -> None:
    while not ended.wait(EVERY_S):
        for (table,) in session.execute(DUE).fetchall():
            session.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(table)))
