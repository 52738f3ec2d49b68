"""Bytes kept by their SHA-256 in one of Django's storages."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage, storages

from coterie_wire.bundle import BlobRef


@dataclass(frozen=True)
class ContentStore:
    """The storage that the settings call `alias`, addressed by content: writing twice is writing once."""

    alias: str
    folder: str = ""
    """Part of the storage; blank: all of it."""

    def put_file(self, path: Path) -> BlobRef:
        """Keep a file's bytes; they are on the disk when this returns."""
        blob = BlobRef.of_file(path)
        with path.open("rb") as file:
            self._put(blob, File(file))
        return blob

    def put_verified(self, file: BinaryIO, blob: BlobRef) -> None:
        """Keep what an open `file` holds, whose hash was checked; it is on the disk when this returns."""
        self._put(blob, File(file))

    def put_bytes(self, content: bytes) -> BlobRef:
        """Keep `content`; it is on the disk when this returns."""
        blob = BlobRef.of_bytes(content)
        self._put(blob, ContentFile(content))
        return blob

    def replace(self, blob: BlobRef, file: BinaryIO) -> None:
        """Keep what an open `file` holds, whose hash was checked, in place of bytes that are damaged or lost."""
        self._storage.save(self._name(blob.sha256), File(file))

    def open(self, sha256: str) -> BinaryIO:
        """The bytes, for reading and seeking. Raises FileNotFoundError."""
        return cast(BinaryIO, self._storage.open(self._name(sha256), "rb"))

    def place(self, sha256: str) -> str:
        """Where the bytes lie below the state directory, where the storage is a directory there."""
        return f"{Path(self._storage.path(self._name(sha256))).relative_to(settings.STATE)}"

    def local_path(self, sha256: str, directory: Path) -> Path:
        """Where this machine can read the bytes: the stored file, or a copy in `directory` if that is remote.

        Raises FileNotFoundError.
        """
        try:
            return Path(self._storage.path(self._name(sha256)))
        except NotImplementedError:
            copy = directory / sha256
            with self.open(sha256) as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target)
            return copy

    def delete(self, sha256: str) -> None:
        """Remove the bytes; nothing happens if they are not there."""
        self._storage.delete(self._name(sha256))

    def clear(self) -> None:
        """Remove everything in the folder."""
        assert self.folder, "a whole storage is never cleared"
        self._clear(self.folder)

    def _clear(self, folder: str) -> None:
        try:
            folders, files = self._storage.listdir(folder)
        except FileNotFoundError:
            return
        for name in folders:
            self._clear(f"{folder}/{name}")
        for name in (*files, ""):
            self._storage.delete(f"{folder}/{name}".rstrip("/"))

    def _put(self, blob: BlobRef, content: "File[bytes]") -> None:
        name = self._name(blob.sha256)
        if not self._storage.exists(name):
            self._storage.save(name, content)

    @property
    def _storage(self) -> Storage:
        return storages[self.alias]

    def _name(self, sha256: str) -> str:
        return f"{self.folder}/{sha256[:2]}/{sha256[2:4]}/{sha256}".lstrip("/")


BLOBS = ContentStore("default")
"""Graphs, parameters, programs and data sets."""
