"""Files that are whole or absent: Django's file storage, with a rename after the bytes have reached the disk."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage

from coterie.core.disk import sync_directory
from coterie.storage.interface import Store

DRAFTS = ".drafts"
DRAFT_LASTS_S = 3600.0
"""A draft that was changed more recently may still be written to."""


class DurableFileSystemStorage(Store, FileSystemStorage):
    """Writes to a temporary file, syncs, renames into place and syncs the directory."""

    def create(self, name: str, content: bytes) -> bool:
        """See `Store`: a link, unlike a rename, replaces nothing."""
        target = self._target(name)
        with self._draft(ContentFile(content)) as draft:
            try:
                target.hardlink_to(draft)
            except FileExistsError:
                return False
        sync_directory(target.parent)
        return True

    def sizes(self, folder: str) -> Mapping[str, int]:
        """See `Store`."""
        sizes = {}
        with suppress(FileNotFoundError), os.scandir(self.path(folder)) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.is_file():
                        sizes[entry.name] = entry.stat().st_size
        return sizes

    def folders(self, folder: str = "") -> set[str]:
        """See `Store`."""
        try:
            return {path.name for path in Path(self.path(folder)).iterdir() if path.is_dir() and path.name != DRAFTS}
        except FileNotFoundError:
            return set()

    def clear(self, folder: str) -> None:
        """See `Store`."""
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
