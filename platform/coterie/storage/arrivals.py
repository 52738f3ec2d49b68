"""Uploads that arrive in parts: each part is stored under its offset, by whichever process received it.

A part is created only where none is, so that of two requests that send the same bytes one goes on and the other learns
that it came late; what counts is the hash of the whole. No process holds anything that another would wait for.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, cast
from uuid import UUID

from coterie.core.errors import CoterieError, ErrorKind
from coterie.storage.interface import Store, store_of

PART_BYTES = 1 << 20
"""The largest part in bytes, which is also what a request holds in memory."""
COPIED_BYTES = 1 << 20


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


class UploadBusy(CoterieError):
    """Another request has written the same part of the upload, or what had arrived was discarded meanwhile."""

    code = "gateway.upload_busy"
    kind = ErrorKind.UNAVAILABLE  # temporary: asking how far it came tells where to go on
    sentence = "Another request changes this upload; ask how far it came and go on from there."


class UploadTarget(NamedTuple):
    """The place to which an upload's bytes are written."""

    arrivals: "Arrivals"
    key: UUID
    sha256: str
    """Announced. Parts lie under it, so that those of another upload under the same key are never mixed with them."""
    size_bytes: int
    """Of the whole upload."""

    def write(self, offset: int, part: bytes) -> None:
        """Store the bytes at `offset`; they are durable when this returns. Raises UploadBusy or StorageUnavailable."""
        try:
            is_new = self.arrivals.store.create(f"{self.key}/{self.sha256}/{offset:015}", part)
        except FileNotFoundError as error:
            raise UploadBusy from error
        if not is_new:
            raise UploadBusy


@dataclass(frozen=True)
class Arrivals:
    """The uploads of one purpose, in the storage that the settings call `alias`.

    Every method raises StorageUnavailable.
    """

    alias: str

    @property
    def store(self) -> Store:
        """The storage of the parts."""
        return store_of(self.alias)

    def arrived_bytes(self, key: UUID, sha256: str) -> int:
        """How much of an upload has arrived without a gap."""
        return sum(size for _name, size in self._parts(key, sha256))

    def target(self, key: UUID, *, sha256: str, offset: int, size_bytes: int) -> UploadTarget:
        """Where to write an upload of `size_bytes`, announced as `sha256`, from `offset` on. Raises WrongOffset."""
        arrived = self.arrived_bytes(key, sha256)
        if arrived != offset:
            raise WrongOffset(offset=arrived, given=offset)
        return UploadTarget(self, key, sha256, size_bytes)

    def read(self, key: UUID, *, sha256: str) -> bytes:
        """The whole upload. Raises WrongHash, or FileNotFoundError where nothing of it is there any more."""
        with self.verified(key, sha256=sha256) as file:
            return file.read()

    @contextmanager
    def verified(self, key: UUID, *, sha256: str) -> Iterator[BinaryIO]:
        """The whole upload in a file of this machine, open at its start; it is copied and hashed as a stream.

        Raises WrongHash, or FileNotFoundError where nothing of it is there any more.
        """
        parts = self._parts(key, sha256)
        if not parts:
            raise FileNotFoundError(f"{key}/{sha256}")
        digest = hashlib.sha256()
        with tempfile.TemporaryFile() as whole:
            for name, _size in parts:
                with self.store.open(name) as part:
                    for chunk in part.chunks(COPIED_BYTES):
                        digest.update(chunk)
                        whole.write(chunk)
            if digest.hexdigest() != sha256:
                raise WrongHash(sha256=sha256, found=digest.hexdigest())
            whole.flush()  # who reads by the descriptor reads what is on the disk
            whole.seek(0)
            yield cast(BinaryIO, whole)

    def discard(self, key: UUID) -> None:
        """Remove what has arrived; nothing happens if nothing has."""
        self.store.clear(str(key))

    def keys(self) -> set[UUID]:
        """All uploads that are arriving or were interrupted."""
        return {UUID(name) for name in self.store.folders()}

    def _parts(self, key: UUID, sha256: str) -> list[tuple[str, int]]:
        """The names and sizes of the parts that follow one another from the first byte on.

        Where a store let two requests create a part at once, the longer one's next part begins inside the shorter one's
        successor. It is passed over: parts under one hash are cut from the same bytes.
        """
        folder, parts, end = f"{key}/{sha256}", [], 0
        for name, size in sorted(self.store.sizes(folder).items()):
            if int(name) > end:
                break
            if int(name) == end:
                parts.append((f"{folder}/{name}", size))
                end += size
        return parts
