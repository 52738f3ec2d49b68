"""Stored files of which no row tells are found, and go with what nothing needs."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from coterie.registry.collecting import GRACE, Collected
from coterie.registry.content import BLOBS
from coterie.registry.models import Blob
from coterie.registry.services import store_file
from coterie.registry.strays import record_strays
from coterie.rounds.retention import collect_blobs
from coterie.storage.interface import store_of
from tests.coterie.world import START, keep

pytestmark = pytest.mark.django_db
DUE = START + 2 * GRACE


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, settings: Settings) -> None:
    """A store without what other tests have left."""
    default = settings.STORAGES["default"]
    own = {**default, "OPTIONS": {**default["OPTIONS"], "location": str(tmp_path / "blobs")}}
    settings.STORAGES = {**settings.STORAGES, "default": own}


def is_there(sha256: str) -> bool:
    return store_of("default").exists(f"{sha256[:2]}/{sha256[2:4]}/{sha256}")


def test_what_no_row_tells_of_goes_a_day_later() -> None:
    known, stray = keep(b"known").pk, BLOBS.put_bytes(b"a stray")
    store_of("default").create("do/ct/or", b"no blob")
    assert {blob.sha256 for blob in BLOBS.all()} == {known, stray.sha256, "or"}
    assert record_strays(now=START, dry_run=True) == Collected(1, stray.size_bytes)
    assert not Blob.objects.filter(pk=stray.sha256).exists()
    assert record_strays(now=START) == Collected(1, stray.size_bytes)
    assert record_strays(now=START) == Collected(0, 0)
    collect_blobs(now=START + GRACE / 2)
    assert is_there(stray.sha256)
    collect_blobs(now=DUE)
    assert not is_there(stray.sha256)


def test_who_was_just_writing_one_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"whose row comes later")
    stray = BLOBS.put_file(path)
    record_strays(now=START)
    assert store_file(path=path, now=DUE).pk == stray.sha256
    collect_blobs(now=DUE + GRACE / 2)
    assert is_there(stray.sha256)


def test_the_command_says_how_many() -> None:
    BLOBS.put_bytes(b"a stray")
    call_command("collect_blobs", "--strays", "--dry-run", stdout=(told := StringIO()))
    assert told.getvalue().splitlines()[0] == (
        "1 files of which the database knew nothing would be recorded, and removed in a day: 0.0 MB"
    )
    call_command("collect_blobs", stdout=StringIO())
    assert not Blob.objects.exists()
    call_command("collect_blobs", "--strays", stdout=StringIO())
    assert Blob.objects.count() == 1
