"""Downloaded bytes by their SHA-256: resumed after a lost connection, verified before use, removed when unused."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from coterie_agent.errors import AgentError
from coterie_agent.home import sync_directory
from coterie_agent.link.failure import Unreachable
from coterie_wire.bundle import BlobRef

Download = Callable[[str, int], Iterator[bytes]]
"""Yields the bytes of blob `sha256` from an offset on."""


class BlobCache:
    """The blobs in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def has(self, ref: BlobRef) -> bool:
        """Whether the blob is stored with the right size; its content is verified when it is read."""
        try:
            return self._path(ref).stat().st_size == ref.size_bytes
        except FileNotFoundError:
            return False

    def fetch(self, ref: BlobRef, download: Download, *, stop: Callable[[], bool]) -> bool:
        """Download `ref`; False if `stop` returned true before it was complete. The bytes received are kept either way.

        Raises AgentError ``bundle.no_space`` or ``bundle.wrong_hash``, Unreachable, and whatever `download` raises.
        """
        if self.has(ref):
            return True
        part = self._path(ref).with_suffix(".part")
        arrived = part.stat().st_size if part.exists() else 0
        free = self.free_bytes()
        if ref.size_bytes - arrived > free:
            detail = f"a download of {ref.size_bytes} bytes does not fit: {free} bytes are free on the device"
            raise AgentError("bundle.no_space", detail)
        try:
            with part.open("ab") as file:
                if arrived < ref.size_bytes:
                    for chunk in download(ref.sha256, arrived):
                        arrived += len(chunk)
                        if arrived > ref.size_bytes:
                            break  # more than was announced: the hash below cannot match
                        file.write(chunk)
                        if stop():
                            return False
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise AgentError("bundle.no_space", f"a download cannot be stored: {error.strerror or error}") from error
        if arrived < ref.size_bytes:
            raise Unreachable(f"the download of {ref.sha256[:12]} ended after {arrived} of {ref.size_bytes} bytes")
        with part.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if arrived != ref.size_bytes or digest != ref.sha256:
            part.unlink()
            raise AgentError("bundle.wrong_hash", f"blob {ref.sha256[:12]} arrived with another content")
        part.replace(self._path(ref))
        sync_directory(self._directory)
        return True

    def read(self, ref: BlobRef) -> bytes:
        """The content of `ref`, verified again, because flash memory loses bits.

        Raises AgentError ``bundle.missing`` or ``bundle.wrong_hash``; a bad file is removed.
        """
        try:
            content = self._path(ref).read_bytes()
        except FileNotFoundError as error:
            raise AgentError("bundle.missing", f"blob {ref.sha256[:12]} is not on the device") from error
        if hashlib.sha256(content).hexdigest() != ref.sha256:
            self._path(ref).unlink()
            raise AgentError("bundle.wrong_hash", f"blob {ref.sha256[:12]} was damaged on the disk; it is fetched anew")
        return content

    def find(self, sha256: str) -> bytes | None:
        """The content with this hash, verified; None where it is not there, or damaged."""
        path = self._directory / sha256
        content = path.read_bytes() if path.exists() else None
        return content if content is not None and hashlib.sha256(content).hexdigest() == sha256 else None

    def keep(self, ref: BlobRef, content: bytes) -> None:
        """Store `content` that was made here instead of downloaded.

        Raises AgentError ``bundle.wrong_hash`` where it is not that of `ref`, or ``bundle.no_space``.
        """
        if BlobRef.of_bytes(content) != ref:
            raise AgentError("bundle.wrong_hash", f"what was made for blob {ref.sha256[:12]} is other content")
        part = self._path(ref).with_suffix(".part")
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            part.unlink(missing_ok=True)
            raise AgentError("bundle.no_space", f"a version cannot be stored: {error.strerror or error}") from error
        part.replace(self._path(ref))
        sync_directory(self._directory)

    def free_bytes(self) -> int:
        """Free space where the blobs are."""
        return shutil.disk_usage(self._directory).free

    def remove(self, refs: Iterable[BlobRef]) -> None:
        """Remove these blobs, where they are stored."""
        for ref in refs:
            self._path(ref).unlink(missing_ok=True)

    def keep_only(self, refs: Iterable[BlobRef]) -> None:
        """Remove every other blob, and what is left of broken downloads."""
        kept = {self._path(ref) for ref in refs}
        for path in self._directory.iterdir():
            if path not in kept:
                path.unlink()

    def _path(self, ref: BlobRef) -> Path:
        return self._directory / ref.sha256
