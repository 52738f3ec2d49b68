"""Tables that newer code has changed are left alone."""

import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from coterie.backup.index import BackupFile, Index, write_index
from coterie.config.schema import OtherSchema, refuse_other, refuse_unfinished
from tests.system.processes import environment

pytestmark = pytest.mark.django_db
INDEX = Index(
    made_at="2026-11-29T08:00:00+00:00",
    version="0.1.0",
    mode="scaled",
    changes=(),
    database=BackupFile("database", "0" * 64, 0),
    files=(),
)


def test_tables_of_this_code_are_taken() -> None:
    refuse_other()


def test_a_change_that_this_code_does_not_know_is_named() -> None:
    MigrationRecorder(connection).record_applied("fleet", "0042_of_tomorrow")
    with pytest.raises(OtherSchema, match=r"fleet\.0042_of_tomorrow"):
        refuse_other()


def test_of_many_changes_a_few_are_named_after_what_to_do() -> None:
    for number in range(42, 52):
        MigrationRecorder(connection).record_applied("fleet", f"00{number}_of_tomorrow")
    named = r"start the version .* fleet\.0042_of_tomorrow, fleet\.0043_of_tomorrow, fleet\.0044\w+ and 7 more$"
    with pytest.raises(OtherSchema, match=named):
        refuse_other()


def test_a_process_does_not_start_before_all_changes_are_made() -> None:
    refuse_unfinished()
    MigrationRecorder(connection).record_unapplied("fleet", "0004_copies")
    refuse_other()
    with pytest.raises(OtherSchema, match=r"lack 1 changes.*coterie migrate"):
        refuse_unfinished()


def test_an_app_that_is_not_there_any_more_is_no_matter() -> None:
    MigrationRecorder(connection).record_applied("removed", "0001_initial")
    refuse_other()


def test_tables_of_which_a_migration_replaces_all_changes_are_taken_and_others_refused() -> None:
    loader = MigrationLoader(connection)
    replaced = loader.disk_migrations["fleet", "0001_tables"].replaces
    MigrationRecorder.Migration.objects.filter(app="fleet", name="0001_tables").delete()
    refuse_other()
    assert ("fleet", "0001_tables") in MigrationLoader(connection).applied_migrations
    MigrationRecorder(connection).record_unapplied(*replaced[-1])
    lacks = rf"then this one; it lacks fleet\.{replaced[-1][1]}$"
    with pytest.raises(OtherSchema, match=lacks):
        refuse_other()
    with pytest.raises(CommandError, match=lacks):
        call_command("migrate")


@pytest.mark.parametrize(
    "command",
    [
        ("coterie", "serve", "--port", "0"),
        *(
            pytest.param(command, marks=pytest.mark.long)
            for command in (
                ("coterie", "migrate"),
                ("coterie", "prune-history"),
                ("coterie", "restore", "backup", "--state", "restored"),
            )
        ),
        ("celery", "-A", "coterie.config.celery", "worker", "--pool", "threads"),
        ("celery", "-A", "coterie.config.celery", "beat"),
    ],
    ids=lambda command: command[-1] if command[0] == "celery" else command[1],
)
def test_a_process_ends_with_a_sentence_where_the_database_does_not_answer(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        closed = listener.getsockname()[1]
    (tmp_path / "backup").mkdir()
    write_index(tmp_path / "backup", INDEX)
    settings = environment(
        mode="scaled",
        state=str(tmp_path),
        database_url=f"postgresql://coterie@127.0.0.1:{closed}/coterie",
        redis_url=f"redis://127.0.0.1:{closed}/0",
        secret_key="0" * 50,
        signing_key="0" * 64,
    )
    ended = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tmp_path,
        env=settings,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert "the database does not answer" in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.parametrize("part", ["worker", "beat"])
def test_celery_says_what_does_not_fit_in_the_environment(part: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "coterie.config.celery", part],
        cwd=tmp_path,
        env={**environment(state=str(tmp_path)), "COTERIE_UNHEARD_OF": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert "unknown variables: COTERIE_UNHEARD_OF [cli.environment]" in ended.stderr
    assert "Traceback" not in ended.stderr
