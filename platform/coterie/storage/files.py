"""Files that are whole or absent: Django's file storage, with a rename after the bytes have reached the disk."""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage

from coterie.core.disk import sync_directory
from coterie.storage.interface import StorageUnavailable, Store

DRAFTS = ".drafts"
DRAFT_LASTS_S = 3600.0
"""A draft that was changed more recently may still be written to."""
AWAY = {
    errno.EROFS,  # what Linux makes of a file system whose disk fails
    errno.EIO,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ENOTCONN,
    errno.ENODEV,
    errno.EACCES,
    errno.EPERM,
}
"""Errors of a file system as a whole, which a network or a person brings back; a full one is told as such."""


class DurableFileSystemStorage(Store, FileSystemStorage):
    """Writes to a temporary file, syncs, renames into place and syncs the directory."""

    _seen: ClassVar[set[Path]] = set()
    """The directories of stores that this process has seen. Those in one state directory come and go together."""

    def __str__(self) -> str:
        return f"the directory {self.location}"

    def create(self, name: str, content: bytes) -> bool:
        """See `Store`: a link, unlike a rename, replaces nothing."""
        with self._answering():
            target = self._target(name)
            with self._draft(ContentFile(content)) as draft:
                try:
                    target.hardlink_to(draft)
                except FileExistsError:
                    return False
            sync_directory(target.parent)
        return True

    def open(self, name: str, mode: str = "rb") -> "File[bytes]":
        """See `Store`."""
        with self._answering():
            return super().open(name, mode)

    def exists(self, name: str) -> bool:
        """See `Store`."""
        with self._answering():
            return super().exists(name)

    def delete(self, name: str) -> None:
        """See `Store`."""
        with self._answering():
            super().delete(name)

    def sizes(self, folder: str) -> Mapping[str, int]:
        """See `Store`."""
        sizes = {}
        with self._answering(), suppress(FileNotFoundError), os.scandir(self.path(folder)) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.is_file():
                        sizes[entry.name] = entry.stat().st_size
        return sizes

    def folders(self, folder: str = "") -> set[str]:
        """See `Store`."""
        with self._answering(), suppress(FileNotFoundError):
            return {path.name for path in Path(self.path(folder)).iterdir() if path.is_dir() and path.name != DRAFTS}
        return set()

    def clear(self, folder: str) -> None:
        """See `Store`."""
        with self._answering():
            shutil.rmtree(self.path(folder), ignore_errors=True)

    def place(self, name: str) -> str:
        """See `Store`: its path in the state directory."""
        return f"{Path(self.location).name}/{name}"

    def signed_url(self, name: str, lasts: timedelta) -> str | None:  # noqa: ARG002 - the interface's
        """See `Store`: the platform serves files itself."""
        return None

    def remove_drafts(self) -> int:
        """See `Store`."""
        removed, now_s = 0, time.time()
        for draft in Path(self.path(DRAFTS)).glob("*"):
            with suppress(FileNotFoundError):
                # The distance, not the age: what a clock that was set back has left is not to stay for ever.
                if abs(now_s - draft.stat().st_mtime) > DRAFT_LASTS_S:
                    draft.unlink()
                    removed += 1
        return removed

    def _save(self, name: str, content: "File[bytes]") -> str:
        with self._answering():
            target = self._target(name)
            with self._draft(content) as draft:
                draft.replace(target)
            sync_directory(target.parent)
        return name

    def _target(self, name: str) -> Path:
        target = Path(self.path(name))
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return target

    @contextmanager
    def _draft(self, content: "File[bytes]") -> Iterator[Path]:
        """The content in a file that has reached the disk, and that is gone afterwards unless it was renamed."""
        drafts = Path(self.path(DRAFTS))
        drafts.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=drafts)
        draft = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for chunk in content.chunks():
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            yield draft
        finally:
            draft.unlink(missing_ok=True)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Raises StorageUnavailable where the block meets a file system that is away; errors of a file pass.

        A share that was unmounted leaves an empty directory: what is stored there is missing, and what would be written
        there is hidden once the share is back. So nothing is read or made beside a store that this process has seen
        and that is gone.
        """
        top = Path(self.location)
        for seen in tuple(self._seen):
            if seen.parent == top.parent and not seen.is_dir():
                raise StorageUnavailable(problem=f"{seen} is not there any more, as where a share was unmounted")
        try:
            yield
            if top.is_dir():
                self._seen.add(top)
        except OSError as error:
            if error.errno not in AWAY:
                raise
            raise StorageUnavailable(problem=error.strerror or str(error)) from error
