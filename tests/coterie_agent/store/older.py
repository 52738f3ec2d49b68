"""A store as an agent before this one left it."""

import re
import sqlite3

from coterie_agent.store.database import _SCHEMAS


def make_older(connection: sqlite3.Connection, *, before: int) -> None:
    """Take out of an empty store what the schemas from number `before` on have brought."""
    later = "".join(_SCHEMAS[before:])
    created = re.findall(r"CREATE (TABLE|TRIGGER) (\w+)", later)
    for kind, name in created:
        connection.execute(f"DROP {kind} IF EXISTS {name}")
    for table, column in re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", later):
        if ("TABLE", table) not in created:
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    connection.execute(f"PRAGMA user_version = {before}")
