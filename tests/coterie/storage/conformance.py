"""What every store does: `coterie.storage.interface.Store`, as tests."""

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile, File

from coterie.storage.interface import Store
from coterie_learning.random import random_bytes

LARGE_BYTES = (20 << 20) + 7
"""More than one piece of a multipart upload, and no multiple of anything."""


class StoreConformance:
    """Subclasses give the fixture `store`."""

    AT_ONCE = 1
    """How many may create the same name at the same moment."""

    def test_what_was_saved_is_read(self, store: Store) -> None:
        assert store.save("ab/cd/name", ContentFile(b"content")) == "ab/cd/name"
        assert store.exists("ab/cd/name") and store.size("ab/cd/name") == 7
        with store.open("ab/cd/name") as file:
            assert file.read() == b"content"

    def test_saving_again_replaces(self, store: Store) -> None:
        store.save("name", ContentFile(b"damaged, and longer"))
        store.save("name", ContentFile(b"sound"))
        with store.open("name") as file:
            assert file.read() == b"sound"

    def test_it_is_read_in_any_order(self, store: Store) -> None:
        content = bytes(range(256)) * 32
        store.save("name", ContentFile(content))
        with store.open("name") as file:
            file.seek(1000)
            assert file.read(100) == content[1000:1100]
            file.seek(10)
            assert file.read() == content[10:]
            assert file.read() == b""
            file.seek(0, io.SEEK_END)
            assert file.tell() == len(content)

    def test_a_large_file_is_kept_and_read_as_a_stream(self, store: Store) -> None:
        content = random_bytes(LARGE_BYTES, 0)
        store.save("large", File(io.BytesIO(content)))
        digest = sha256()
        with store.open("large") as file:
            while chunk := file.read(1 << 18):
                digest.update(chunk)
        assert digest.digest() == sha256(content).digest()
        store.delete("large")

    def test_what_is_not_there_is_told_and_may_be_deleted(self, store: Store) -> None:
        assert not store.exists("missing")
        with pytest.raises(FileNotFoundError):
            store.open("missing").read(1)
        store.delete("missing")
        store.clear("missing")
        assert store.sizes("missing") == {} and "missing" not in store.folders()

    def test_what_is_deleted_is_gone(self, store: Store) -> None:
        store.save("ab/name", ContentFile(b"content"))
        store.delete("ab/name")
        assert not store.exists("ab/name")

    def test_what_is_there_is_not_created_again(self, store: Store) -> None:
        assert store.create("ab/name", b"first")
        assert not store.create("ab/name", b"second")
        with store.open("ab/name") as file:
            assert file.read() == b"first"

    def test_of_several_at_once_one_creates(self, store: Store) -> None:
        ready = threading.Barrier(6)

        def create(number: int) -> bool:
            ready.wait()
            return store.create("contended", bytes([number]))

        with ThreadPoolExecutor(6) as pool:
            created = list(pool.map(create, range(6)))
        assert 1 <= created.count(True) <= self.AT_ONCE
        with store.open("contended") as file:
            assert created[file.read()[0]]

    def test_names_are_listed_by_folder_and_a_folder_is_cleared(self, store: Store) -> None:
        one, other = f"{uuid4()}", f"{uuid4()}"
        for name in (f"{one}/deep/a", f"{one}/b", f"{other}/a", f"{one}s/a"):
            store.create(name, b"x" * len(name))
        assert {one, other, f"{one}s"} <= store.folders()
        assert store.folders(one) == {"deep"}
        assert store.sizes(one) == {"b": len(one) + 2}
        store.clear(one)
        assert one not in store.folders() and {other, f"{one}s"} <= store.folders()
        assert store.exists(f"{other}/a") and store.exists(f"{one}s/a")
