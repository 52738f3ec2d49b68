"""Uploads that arrive in parts, each in a file of its own that is appended to until it is whole."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple
from uuid import UUID

from django.conf import settings

from coterie.core.errors import CoterieError, ErrorKind


class WrongOffset(CoterieError):
    """Fields: offset (where to go on), given."""

    code = "upload.wrong_offset"
    kind = ErrorKind.CONFLICT
    sentence = "The upload goes on at byte {offset}, not at {given}."


class WrongHash(CoterieError):
    """Fields: sha256 (announced), found."""

    code = "upload.wrong_hash"
    kind = ErrorKind.INVALID
    sentence = "The upload was announced as {sha256} and is {found}."


class UploadTarget(NamedTuple):
    """The file that an upload's bytes are written to."""

    path: Path
    size_bytes: int
    """Of the whole upload."""


@dataclass(frozen=True)
class Arrivals:
    """The uploads of one purpose, in one directory of the state, which platform processes share."""

    directory: str

    def path(self, key: UUID) -> Path:
        """The file that an upload arrives in."""
        directory = Path(settings.STATE) / self.directory
        directory.mkdir(mode=0o700, exist_ok=True)
        return directory / f"{key}.part"

    def arrived_bytes(self, key: UUID) -> int:
        """How much of an upload has arrived."""
        try:
            return self.path(key).stat().st_size
        except FileNotFoundError:
            return 0

    def target(self, key: UUID, *, offset: int, size_bytes: int) -> UploadTarget:
        """Where to write an upload of `size_bytes` from `offset` on. Raises WrongOffset."""
        arrived = self.arrived_bytes(key)
        if arrived != offset:
            raise WrongOffset(offset=arrived, given=offset)
        return UploadTarget(self.path(key), size_bytes)

    def read(self, key: UUID, *, sha256: str) -> bytes:
        """The whole upload, which was announced as `sha256`. Raises WrongHash or FileNotFoundError."""
        content = self.path(key).read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            raise WrongHash(sha256=sha256, found=found)
        return content

    @contextmanager
    def verified(self, key: UUID, *, sha256: str) -> Iterator[BinaryIO]:
        """The whole upload, which was announced as `sha256`, open at its start; it is hashed as a stream.

        Raises WrongHash or FileNotFoundError.
        """
        with self.path(key).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != sha256:
                raise WrongHash(sha256=sha256, found=found)
            file.seek(0)
            yield file

    def discard(self, key: UUID) -> None:
        """Remove what has arrived; nothing happens if nothing has."""
        self.path(key).unlink(missing_ok=True)

    def keys(self) -> set[UUID]:
        """All uploads that are arriving or were interrupted."""
        return {UUID(path.stem) for path in self.path(UUID(int=0)).parent.glob("*.part")}
