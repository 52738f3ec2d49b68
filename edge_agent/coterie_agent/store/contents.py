"""The size of each table of the store, in rows and bytes."""

import msgspec

from coterie_agent.store.database import Database


class StoreTable(msgspec.Struct, frozen=True):
    """One table."""

    name: str
    rows: int
    bytes: int
    """Size of the values, as text or as blobs."""


class Contents:
    """Reads the list of tables from the database's schema, so that none is missed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tables(self) -> tuple[StoreTable, ...]:
        """All tables that hold anything, by name."""
        with self._database.reading() as cursor:
            names = cursor.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ).fetchall()
            found = []
            for (name,) in names:
                columns = [row[1] for row in cursor.execute(f"PRAGMA table_info({name})").fetchall()]
                sizes = " + ".join(f"coalesce(length(CAST({column} AS BLOB)), 0)" for column in columns)
                query = f"SELECT count(*), coalesce(sum({sizes}), 0) FROM {name}"  # noqa: S608  # names of the schema
                found.append(StoreTable(name, *cursor.execute(query).fetchone()))
        return tuple(table for table in found if table.rows)
