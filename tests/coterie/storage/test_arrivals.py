"""Uploads in parts, where a store lets two writers through at once."""

import hashlib
import tempfile
from pathlib import Path
from uuid import uuid4

import pytest

from coterie.storage.arrivals import Arrivals, UploadBusy
from coterie_learning.random import random_bytes


def test_overlapping_parts_of_one_content_are_one_upload() -> None:
    uploads, key, content = Arrivals("uploads"), uuid4(), random_bytes(100, 0)
    sha256 = hashlib.sha256(content).hexdigest()
    target = uploads.target(key, sha256=sha256, offset=0, size_bytes=100)
    target.write(0, content[:30])
    target.write(50, content[50:80])  # of one who wrote 50 bytes at first, which the 30 replaced
    assert uploads.arrived_bytes(key, sha256) == 30
    target.write(30, content[30:70])
    assert uploads.arrived_bytes(key, sha256) == 70
    target.write(70, content[70:])
    with uploads.verified(key, sha256=sha256) as file:
        assert file.read() == content
    uploads.discard(key)
    assert uploads.arrived_bytes(key, sha256) == 0


def test_a_part_whose_upload_is_discarded_while_it_is_written_is_not_told_to_be_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uploads, key, content = Arrivals("uploads"), uuid4(), random_bytes(100, 0)
    sha256 = hashlib.sha256(content).hexdigest()
    target = uploads.target(key, sha256=sha256, offset=0, size_bytes=100)
    begin = tempfile.mkstemp

    def discarded_meanwhile(**where: Path) -> tuple[int, str]:
        uploads.discard(key)
        return begin(**where)

    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "mkstemp", discarded_meanwhile)
        with pytest.raises(UploadBusy):
            target.write(0, content)
    assert uploads.arrived_bytes(key, sha256) == 0
    target.write(0, content)
    assert uploads.arrived_bytes(key, sha256) == 100
