"""Bytes stored by their SHA-256 in one of Django's storages."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, cast

from django.core.files.base import ContentFile, File

from coterie.storage.interface import Store, store_of
from coterie_wire.bundle import BlobRef

COPIED_BYTES = 1 << 20


@dataclass(frozen=True)
class ContentStore:
    """The storage that the settings call `alias`, addressed by content: writing twice is writing once."""

    alias: str
    folder: str = ""
    """Part of the storage; blank: all of it."""

    def put_file(self, path: Path) -> BlobRef:
        """Store a file's bytes; they are on disk when this returns."""
        blob = BlobRef.of_file(path)
        with path.open("rb") as file:
            self._put(blob, File(file))
        return blob

    def put_verified(self, file: BinaryIO, blob: BlobRef) -> None:
        """Store the content of an open `file`, whose hash was checked; it is on disk when this returns."""
        self._put(blob, File(file))

    def put_bytes(self, content: bytes) -> BlobRef:
        """Store `content`; it is on disk when this returns."""
        blob = BlobRef.of_bytes(content)
        self._put(blob, ContentFile(content))
        return blob

    def replace(self, blob: BlobRef, file: BinaryIO) -> None:
        """Store the content of an open `file`, whose hash was checked, in place of damaged or lost bytes."""
        self._store.save(self._name(blob.sha256), File(file))

    def open(self, sha256: str) -> BinaryIO:
        """The bytes, for reading and seeking. Raises FileNotFoundError."""
        return cast(BinaryIO, self._store.open(self._name(sha256), "rb"))

    def place(self, sha256: str) -> str:
        """The path of the bytes in a backup, relative to its top, as in embedded mode's state directory."""
        return self._store.place(self._name(sha256))

    def local_path(self, sha256: str, directory: Path) -> Path:
        """A path where this machine can read the bytes: the stored file, or a copy in `directory` if that is remote.

        Raises FileNotFoundError, also where what came is not what was stored.
        """
        try:
            return Path(self._store.path(self._name(sha256)))
        except NotImplementedError:
            return self._copied(sha256, directory / sha256)

    def signed_url(self, sha256: str, lasts: timedelta) -> str | None:
        """A URL where the bytes can be read for the time `lasts`; None where only the platform serves them."""
        return self._store.signed_url(self._name(sha256), lasts)

    def all(self) -> Iterator[BlobRef]:
        """The blobs of the folder, from its names alone: nothing is read."""
        for first in sorted(self._store.folders(self.folder)):
            above = f"{self.folder}/{first}".lstrip("/")
            for second in sorted(self._store.folders(above)):
                for name, size_bytes in sorted(self._store.sizes(f"{above}/{second}").items()):
                    yield BlobRef(sha256=name, size_bytes=size_bytes)

    def delete(self, sha256: str) -> None:
        """Remove the bytes; nothing happens if they are not there."""
        self._store.delete(self._name(sha256))

    def clear(self) -> None:
        """Remove everything in the folder."""
        assert self.folder, "a whole storage is never cleared"
        self._store.clear(self.folder)

    def _copied(self, sha256: str, copy: Path) -> Path:
        digest = hashlib.sha256()
        with self.open(sha256) as source, copy.open("wb") as target:
            while chunk := source.read(COPIED_BYTES):
                digest.update(chunk)
                target.write(chunk)
        if digest.hexdigest() != sha256:
            copy.unlink()
            raise FileNotFoundError(f"{self._name(sha256)} is damaged")
        return copy

    def _put(self, blob: BlobRef, content: "File[bytes]") -> None:
        name = self._name(blob.sha256)
        if not self._store.exists(name):
            self._store.save(name, content)

    @property
    def _store(self) -> Store:
        return store_of(self.alias)

    def _name(self, sha256: str) -> str:
        return f"{self.folder}/{sha256[:2]}/{sha256[2:4]}/{sha256}".lstrip("/")


BLOBS = ContentStore("default")
"""Graphs, parameters, programs and data sets."""
