"""A backup is the platform at one moment; what is half-written, damaged, newer or in the way is refused."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import Settings

from coterie.backup import errors
from coterie.backup.index import INDEX, LOCK, Index, held, read_index, write_index
from coterie.backup.restoring import DATABASE, restore_backup
from coterie.backup.taking import BackupProgress, Taken, take_backup
from coterie.config.exclusive import StateInUse, lock_state
from coterie.core.errors import CoterieError
from coterie.core.file_removal import no_removal, removal
from coterie.merging.files import updates_of
from coterie.merging.models import Update
from coterie.registry.content import BLOBS
from coterie.registry.models import Blob
from coterie.rounds.models import Round
from coterie.rounds.tasks import tidy
from tests.coterie.agent_rollouts.world import published_in, repository
from tests.coterie.world import START, fleet_of, keep, later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db(transaction=True)


def back_up(target: Path) -> Taken:
    return take_backup(target=target, now=START, report=lambda _: None)


def restore(source: Path, state: Path, mode: str = "embedded") -> Index:
    return restore_backup(source=source, state=state, mode=mode, report=lambda _: None)


def rows(state: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(state / DATABASE)) as database:
        return database.execute(query).fetchall()


@pytest.fixture
def update(tmp_path: Path) -> Update:
    """Of a round that is open; the first of its two devices has sent it."""
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=2, over_selection=1)
    devices = fleet_of(2)
    for second in range(2):
        for device in devices:
            device.check_in(later(second))
    assignment = devices[0].say(later(3)).assignment
    assert assignment is not None
    devices[0].deliver(assignment.assignment, later(4), seed=1)
    return Update.objects.get()


def test_everything_that_the_database_needs_comes_back(update: Update, tmp_path: Path) -> None:
    removed = keep(b"nobody needs it any more")
    Blob.objects.filter(pk=removed.pk).update(removed_at=START)
    told: list[BackupProgress] = []
    taken = take_backup(target=tmp_path / "backup", now=START, report=told.append)
    assert told[-1].bytes_done == told[-1].bytes_total > 0
    assert taken.backup.missing == ()
    state = tmp_path / "state"
    restore(tmp_path / "backup", state)
    assert rows(state, "SELECT state FROM rounds_round") == [("open",)]
    for sha256 in Blob.objects.filter(removed_at=None).values_list("pk", flat=True):
        with BLOBS.open(sha256) as stored:
            assert (state / BLOBS.place(sha256)).read_bytes() == stored.read()
    assert not (state / BLOBS.place(removed.pk)).exists()
    assert (state / updates_of(update.cohort).place(update.sha256)).stat().st_size == update.size_bytes
    assert (state / "secret-key").read_bytes() == (settings.STATE / "secret-key").read_bytes()
    for directory in (state, tmp_path / "backup"):
        files = (path for path in directory.rglob("*") if path.is_file())
        assert not [path for path in (directory, *files) if path.stat().st_mode & 0o077 and path.name != INDEX]


def test_a_second_backup_copies_what_is_new_and_forgets_what_has_gone(update: Update, tmp_path: Path) -> None:
    first = back_up(tmp_path)
    gone = updates_of(update.cohort).place(update.sha256)
    Round.objects.update(tidied_at=START)
    new = keep(b"a new one")
    second = back_up(tmp_path)
    assert second.copied_bytes == second.backup.database.size_bytes + new.size_bytes < first.copied_bytes
    assert not (tmp_path / gone).exists() and (tmp_path / BLOBS.place(new.pk)).exists()
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == {
        INDEX,
        LOCK,
        second.backup.database.path,
        *(file.path for file in second.backup.files),
    }


def test_a_backup_heals_itself_from_the_platform_and_keeps_what_the_platform_lost(tmp_path: Path) -> None:
    blob, other = keep(b"one"), keep(b"another")
    back_up(tmp_path)
    (tmp_path / BLOBS.place(blob.pk)).write_bytes(b"0ne")
    BLOBS.delete(other.pk)
    assert back_up(tmp_path).backup.missing == ()
    assert (tmp_path / BLOBS.place(blob.pk)).read_bytes() == b"one"
    assert (tmp_path / BLOBS.place(other.pk)).read_bytes() == b"another"


def test_what_the_platform_has_lost_or_damaged_is_named(tmp_path: Path) -> None:
    lost, damaged = keep(b"lost"), keep(b"damaged")
    BLOBS.delete(lost.pk)
    (settings.STATE / BLOBS.place(damaged.pk)).write_bytes(b"demaged")
    assert {file.sha256 for file in back_up(tmp_path / "backup").backup.missing} == {lost.pk, damaged.pk}
    restore(tmp_path / "backup", tmp_path / "state")
    assert not (tmp_path / "state" / BLOBS.place(damaged.pk)).exists()


def test_nothing_is_removed_meanwhile(update: Update) -> None:
    Round.objects.update(state="abandoned", finished_at=START, opened_at=None)
    with no_removal():
        tidy()
        with pytest.raises(CommandError, match="backup"):
            call_command("collect_blobs")
        assert updates_of(update.cohort).open(update.sha256).close() is None
    tidy()
    with pytest.raises(FileNotFoundError):
        updates_of(update.cohort).open(update.sha256)
    with removal() as allowed:
        assert allowed


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda backup: (backup / INDEX).unlink(), "backup.incomplete"),
        (lambda backup: [(backup / name).unlink() for name in (INDEX, LOCK)], "backup.not_a_backup"),
        (lambda backup: (backup / INDEX).write_bytes(b'{"format": 2}'), "backup.unknown_format"),
        (lambda backup: os.truncate(backup / INDEX, 100), "backup.damaged"),
        (lambda backup: leave(backup, "../../outside"), "backup.unknown_format"),
        (lambda backup: leave(backup, "/etc/outside"), "backup.unknown_format"),
        (lambda backup: flip(next(backup.glob("database-*"))), "backup.damaged"),
        (lambda backup: flip(next((backup / "blobs").rglob("?" * 64))), "backup.damaged"),
        (lambda backup: next((backup / "blobs").rglob("?" * 64)).unlink(), "backup.damaged"),
    ],
    ids=[
        "half-written",
        "something else",
        "another format",
        "truncated index",
        "path outside",
        "absolute path",
        "damaged database",
        "damaged blob",
        "lost blob",
    ],
)
def test_a_spoilt_backup_becomes_no_platform(spoil, code: str, tmp_path: Path) -> None:
    keep(b"a model")
    back_up(tmp_path / "backup")
    spoil(tmp_path / "backup")
    with pytest.raises(CoterieError) as refused:
        restore(tmp_path / "backup", tmp_path / "state")
    assert refused.value.code == code
    assert not (tmp_path / "state" / DATABASE).exists()


def leave(backup: Path, path: str) -> None:
    """Have the index name a file outside the backup."""
    index = read_index(backup)
    write_index(backup, msgspec.structs.replace(index, files=(msgspec.structs.replace(index.database, path=path),)))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def test_a_backup_of_newer_tables_or_of_another_mode_is_refused(tmp_path: Path) -> None:
    MigrationRecorder(connection).record_applied("fleet", "0042_of_tomorrow")
    try:
        back_up(tmp_path / "backup")
    finally:
        MigrationRecorder(connection).record_unapplied("fleet", "0042_of_tomorrow")
    with pytest.raises(errors.NewerBackup, match=r"fleet\.0042_of_tomorrow"):
        restore(tmp_path / "backup", tmp_path / "state")
    with pytest.raises(errors.OtherMode):
        restore(tmp_path / "backup", tmp_path / "state", mode="scaled")
    assert not (tmp_path / "state").exists()


def test_a_backup_whose_tables_cannot_be_brought_up_to_date_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    back_up(tmp_path / "backup")
    index = read_index(tmp_path / "backup")
    *replaced, lacking = MigrationLoader(connection).disk_migrations["fleet", "0001_tables"].replaces
    others = [change for change in index.changes if change[0] != "fleet"]
    write_index(tmp_path / "backup", msgspec.structs.replace(index, changes=(*others, *replaced)))
    with pytest.raises(errors.OlderBackup, match=rf"lack fleet\.{lacking[1]}\."):
        restore(tmp_path / "backup", tmp_path / "state")
    assert not (tmp_path / "state").exists()
    write_index(tmp_path / "backup", msgspec.structs.replace(index, changes=(*others, *replaced, lacking)))
    restore(tmp_path / "backup", tmp_path / "state")


def test_a_state_that_is_there_is_left_alone(tmp_path: Path) -> None:
    back_up(tmp_path / "backup")
    state = tmp_path / "state"
    state.mkdir()
    (state / "secret-key").write_bytes(b"of another platform")
    with pytest.raises(errors.StateExists):
        restore(tmp_path / "backup", state)
    assert [path.name for path in state.iterdir()] == ["secret-key"]
    (state / "secret-key").unlink()
    holder = lock_state(state)
    with pytest.raises(StateInUse):
        restore(tmp_path / "backup", state)
    os.close(holder)


def test_a_restoration_that_was_broken_off_goes_on_with_the_same_backup_only(tmp_path: Path) -> None:
    blob = keep(b"a model")
    back_up(tmp_path / "backup")
    path = tmp_path / "backup" / BLOBS.place(blob.pk)
    content = path.read_bytes()
    path.unlink()
    state = tmp_path / "state"
    with pytest.raises(errors.DamagedBackup):
        restore(tmp_path / "backup", state)
    keep(b"another")
    back_up(tmp_path / "other")
    with pytest.raises(errors.StateExists):
        restore(tmp_path / "other", state)
    path.write_bytes(content)
    restore(tmp_path / "backup", state)
    assert (state / DATABASE).exists() and not (state / "restoring").exists()


def test_other_files_are_no_target_and_one_backup_at_a_time_is_made(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear").touch()
    with pytest.raises(errors.NotABackup):
        back_up(tmp_path / "letters")
    with held(tmp_path / "backup"), pytest.raises(errors.BackupInUse):
        back_up(tmp_path / "backup")


def test_a_backup_that_is_broken_off_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(b"a model")
    back_up(tmp_path / "backup")
    before = read_index(tmp_path / "backup")
    keep(b"another")

    def killed(_progress: BackupProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_backup(target=tmp_path / "backup", now=START, report=killed)
    assert read_index(tmp_path / "backup") == before
    assert msgspec.structs.asdict(restore(tmp_path / "backup", tmp_path / "state")) == msgspec.structs.asdict(before)


def test_agent_releases_come_back(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    changed: Settings = request.getfixturevalue("settings")  # `settings` are Django's here
    (tmp_path / "signed").mkdir()
    releases = repository(tmp_path / "signed").root
    published_in(releases.rename(tmp_path / "releases"), changed)
    assert back_up(tmp_path / "backup").backup.missing == ()
    restore(tmp_path / "backup", tmp_path / "state")
    for path in (tmp_path / "releases").rglob("*"):
        assert path.is_dir() or (tmp_path / "state" / path.relative_to(tmp_path)).read_bytes() == path.read_bytes()
