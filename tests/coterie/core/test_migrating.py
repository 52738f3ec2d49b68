"""Operations of migrations: first models are created at little cost, a removed index is gone and comes back."""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.db.migrations import CreateModel
from django.db.migrations.state import ProjectState
from django.db.models import CASCADE, AutoField, ForeignKey

from coterie.core.migrating import CreateModels
from tests.system.processes import ROOT, environment
from tests.system.scaled import REDIS, SCALED, new_database

GONE = {"device_id", "round_id", "taken_by_id"}


def test_models_that_were_built_remain_and_know_those_that_refer_to_them() -> None:
    def table(name: str, *fields: tuple[str, ForeignKey[object, object]]) -> CreateModel:
        return CreateModel(name, [("id", AutoField(primary_key=True)), *fields])

    state = ProjectState()
    CreateModels([table("Fleet")]).state_forwards("one", state)
    fleet = state.apps.get_model("one", "Fleet")
    refers = table("Device", ("fleet", ForeignKey("one.Fleet", CASCADE)))
    CreateModels([refers, table("Part", ("device", ForeignKey("two.Device", CASCADE)))]).state_forwards("two", state)
    assert state.apps.get_model("one", "Fleet") is fleet
    device = state.apps.get_model("two", "Device")
    assert [relation.related_model for relation in fleet._meta.related_objects] == [device]
    assert device._meta.get_field("fleet").remote_field.model is fleet
    assert state.apps.get_model("two", "Part")._meta.get_field("device").remote_field.model is device


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
