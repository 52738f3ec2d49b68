"""An index that a migration removes is gone, on either database, and comes back with the migration undone."""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from tests.system.processes import ROOT, environment
from tests.system.scaled import REDIS, SCALED, new_database

GONE = {"device_id", "round_id", "taken_by_id"}


@pytest.mark.django_db
def test_an_index_that_another_begins_with_is_gone() -> None:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, "rounds_assignment").values()
    alone = {tuple(each["columns"]) for each in found if each["index"] and not each["unique"]}
    assert not alone & {(column,) for column in GONE}
    begins = {each["columns"][0] for each in found if each["index"] or each["unique"]}
    assert begins >= GONE


@pytest.mark.long
class TestPostgreSql:
    pytestmark = SCALED

    def test_it_goes_beside_writers_and_comes_back(self, tmp_path: Path) -> None:
        with new_database() as database, psycopg.connect(database, autocommit=True) as tables:

            def indexed() -> set[str]:
                rows = tables.execute(
                    "SELECT indexdef FROM pg_indexes WHERE tablename = 'rounds_assignment'"
                    " AND indexname LIKE 'rounds_assignment%'"
                ).fetchall()
                return {column for (text,) in rows for column in GONE if text.endswith(f"({column})")}

            def migrate(*where: str) -> None:
                command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", *where]
                keys = {"secret_key": "0" * 64, "signing_key": "0" * 64}
                known = environment(mode="scaled", database_url=database, redis_url=REDIS, state=str(tmp_path), **keys)
                subprocess.run(command, env=known, cwd=ROOT, check=True)

            def foreign_keys() -> int:
                query = "SELECT 1 FROM pg_constraint WHERE conrelid = 'rounds_assignment'::regclass AND contype = 'f'"
                return len(tables.execute(query).fetchall())

            migrate("rounds", "0001")
            assert indexed() == GONE
            before = foreign_keys()
            migrate()
            assert (indexed(), foreign_keys()) == (set(), before)
            migrate("rounds", "0001")
            assert indexed() == GONE
