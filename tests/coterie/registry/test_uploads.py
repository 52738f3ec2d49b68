"""Uploads of gigabytes are read and kept before a transaction begins: it would lock everybody out of SQLite."""

import io
from pathlib import Path

import numpy as np
import pytest
from pytest_django.fixtures import Settings

from coterie.core.acting import NOBODY, NobodyActs, acting_as
from coterie.registry.services import add_dataset, submit_pair
from tests.coterie.registry import watched_storage
from tests.coterie.world import START


@pytest.fixture(autouse=True)
def watched(settings: Settings, tmp_path: Path) -> list[bool]:
    backend = "tests.coterie.registry.watched_storage.WatchedStorage"
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": backend, "OPTIONS": {"location": tmp_path / "b"}}}
    watched_storage.held.clear()
    return watched_storage.held


def dataset(path: Path) -> Path:
    content = io.BytesIO()
    np.savez(content, x=np.zeros((4, 4), np.float32), y=np.array([0, 1, 2, 0]))
    path.write_bytes(content.getvalue())
    return path


@pytest.mark.django_db(transaction=True)
def test_no_transaction_waits_for_an_upload(tmp_path: Path, watched: list[bool]) -> None:
    add_dataset(name="digits", path=dataset(tmp_path / "digits.npz"), now=START)
    programs = [tmp_path / "device", tmp_path / "cloud"]
    for program in programs:
        program.write_bytes(program.name.encode())
    submit_pair(
        name="digits",
        device_program=programs[0],
        cloud_program=programs[1],
        labels=["a", "b"],
        batch_size=8,
        now=START,
    )
    assert watched == [False, False, False]


@pytest.mark.django_db
def test_who_may_not_upload_has_nothing_kept(tmp_path: Path, watched: list[bool]) -> None:
    with acting_as(NOBODY), pytest.raises(NobodyActs):
        add_dataset(name="digits", path=dataset(tmp_path / "digits.npz"), now=START)
    assert watched == []
