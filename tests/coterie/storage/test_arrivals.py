"""Uploads in parts, where a store lets two writers through at once."""

import hashlib
from uuid import uuid4

from coterie.storage.arrivals import Arrivals
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
