"""A stored file that the disk has changed is never used: it comes back from a copy, or its operator is told."""

import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as platform_settings
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from coterie.audit.models import Entry
from coterie.registry import verifying
from coterie.registry.archive import archive
from coterie.registry.content import BLOBS
from coterie.registry.errors import BlobDamaged
from coterie.registry.models import Blob
from coterie.registry.services import store_file
from coterie.registry.verifying import EVERY, is_elsewhere, open_blob, scrub, sound_path
from coterie.repairs.faults import find_faults
from coterie.storage.files import DurableFileSystemStorage
from tests.coterie.world import START, keep, make_pair, make_version

pytestmark = pytest.mark.django_db
LATER = START + timedelta(minutes=11)


@pytest.fixture(autouse=True)
def _nothing_read_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blobs are shared by the tests of a process."""
    monkeypatch.setattr(verifying, "_FRESH", verifying._Fresh())


def path_of(sha256: str) -> Path:
    return Path(platform_settings.STATE) / BLOBS.place(sha256)


def flip(sha256: str) -> None:
    content = bytearray(path_of(sha256).read_bytes())
    content[len(content) // 2] ^= 1
    path_of(sha256).write_bytes(content)


@pytest.fixture
def blob() -> Iterator[Blob]:
    """Of a prediction graph, sound at the beginning and at the end."""
    blob = make_pair(predict=b"a graph that a disk will damage").predict
    assert blob is not None
    sound = path_of(blob.pk).read_bytes()
    yield blob
    path_of(blob.pk).write_bytes(sound)


@pytest.fixture
def copy(settings, blob: Blob, tmp_path: Path) -> Path:
    """Of the blob, in a backup that the settings name behind one that has none."""
    settings.COPIES = (tmp_path / "empty", tmp_path / "backup")
    copy = tmp_path / "backup" / BLOBS.place(blob.pk)
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path_of(blob.pk).read_bytes())
    return copy


def test_scrubbing_finds_one_flipped_bit_and_its_operator_learns_what_is_affected(blob: Blob) -> None:
    flip(blob.pk)
    assert scrub(now=START).damaged == (blob.pk,)
    (found,) = find_faults(now=START)
    assert (found.key, found.code) == (f"blob_damaged:{blob.pk}", "registry.blob_damaged")
    assert "model pair pair would need it" in found.sentence
    assert [remedy.title for remedy in found.remedies] == ["Repair it", "See the versions of pair"]


def test_a_blob_that_was_lost_is_damaged_too(blob: Blob) -> None:
    path_of(blob.pk).unlink()
    assert scrub(now=START).damaged == (blob.pk,)


def test_a_copy_replaces_what_is_damaged(blob: Blob, copy: Path) -> None:
    flip(blob.pk)
    found = scrub(now=START)
    assert (found.repaired, found.damaged) == ((blob.pk,), ())
    assert path_of(blob.pk).read_bytes() == copy.read_bytes()
    assert find_faults(now=START) == []


def test_an_operator_repairs_by_a_copy_that_was_named_since(blob: Blob, api: APIClient, settings, copy: Path) -> None:
    flip(blob.pk)
    named, settings.COPIES = settings.COPIES, ()
    scrub(now=START)
    (remedy, *_) = find_faults(now=START)[0].remedies
    refused = api.post(remedy.path)
    assert (refused.status_code, refused.json()["code"]) == (503, "registry.blob_damaged")
    assert [one["sha256"] for one in api.get("/api/blobs/", {"damaged": "true"}).json()["results"]] == [blob.pk]
    settings.COPIES = named
    assert api.post(remedy.path).json()["damaged_at"] is None
    assert path_of(blob.pk).read_bytes() == copy.read_bytes()
    assert Entry.objects.get(action="registry.repair_blob").after == {"damaged_at": None, "replaced": True}


def test_what_was_removed_is_not_repaired(blob: Blob, api: APIClient) -> None:
    Blob.objects.filter(pk=blob.pk).update(removed_at=START)
    refused = api.post(f"/api/blobs/{blob.pk}/repair/")
    assert (refused.status_code, refused.json()["code"]) == (410, "registry.blob_removed")


def test_a_damaged_copy_replaces_nothing(blob: Blob, copy: Path) -> None:
    flip(blob.pk)
    copy.write_bytes(path_of(blob.pk).read_bytes())
    assert scrub(now=START).damaged == (blob.pk,)


def test_what_was_put_right_is_noticed_within_minutes(blob: Blob) -> None:
    flip(blob.pk)
    scrub(now=START)
    flip(blob.pk)
    assert scrub(now=START + timedelta(minutes=1)).files == 0
    scrub(now=LATER)
    blob.refresh_from_db()
    assert blob.damaged_at is None
    open_blob(blob.pk, now=LATER).close()


def test_the_same_bytes_given_again_repair(blob: Blob, tmp_path: Path) -> None:
    (tmp_path / "again").write_bytes(path_of(blob.pk).read_bytes())
    flip(blob.pk)
    scrub(now=START)
    store_file(path=tmp_path / "again", now=LATER)
    assert scrub(now=LATER, bytes_at_once=None).damaged == ()


def test_a_turn_reads_so_many_bytes_and_the_next_goes_on() -> None:
    blobs = [keep(b"x" * 1000 + bytes([number])) for number in range(5)]
    turns = [scrub(now=START + timedelta(minutes=turn), bytes_at_once=2002).files for turn in range(4)]
    assert turns == [2, 2, 1, 0]
    assert scrub(now=START + timedelta(minutes=5), bytes_at_once=1).files == 0
    assert scrub(now=START + EVERY + timedelta(seconds=1), bytes_at_once=1).files == 1, "one, however large"
    assert Blob.objects.filter(pk__in=[blob.pk for blob in blobs], verified_at=None).count() == 0


def test_a_clock_that_was_set_back_stops_no_scrubbing(blob: Blob) -> None:
    scrub(now=START, bytes_at_once=None)
    assert scrub(now=START - timedelta(days=400)).files > 0


def test_jobs_and_people_get_no_damaged_file(tmp_path: Path) -> None:
    version = make_version(make_pair("other"), seed=77)
    sound = path_of(version.parameters_id).read_bytes()
    flip(version.parameters_id)
    try:
        with pytest.raises(BlobDamaged):
            sound_path(version.parameters_id, tmp_path, now=START)
        with pytest.raises(BlobDamaged):
            archive(version, now=START)
    finally:
        path_of(version.parameters_id).write_bytes(sound)


def test_the_command_says_what_is_damaged_and_fails(blob: Blob) -> None:
    flip(blob.pk)
    told = StringIO()
    with pytest.raises(CommandError, match="COTERIE_COPIES"):
        call_command("scrub", "--json", stdout=told)
    assert json.loads(told.getvalue())["damaged"] == {blob.pk: ["model pair pair"]}
    flip(blob.pk)
    call_command("scrub", stdout=told)
    assert told.getvalue().count("0 replaced by a copy, 0 damaged\n") == 2


def test_a_directory_without_the_oldest_files_is_not_the_platforms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert not is_elsewhere(), "a new platform has no files"
    sha256 = keep(b"the oldest").pk
    assert not is_elsewhere()
    empty = DurableFileSystemStorage(location=tmp_path / "blobs")
    monkeypatch.setattr(verifying, "store_of", lambda _alias: empty)
    assert is_elsewhere()
    Blob.objects.filter(pk=sha256).update(damaged_at=START)
    assert not is_elsewhere(), "that it is lost is known"
