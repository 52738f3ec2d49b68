"""Files that are whole or absent: Django's file storage, with a rename after the bytes have reached the disk."""

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage

DRAFTS = ".drafts"
DRAFT_LASTS_S = 3600.0
"""A file that is still being written was changed more recently."""


class DurableFileSystemStorage(FileSystemStorage):
    """Writes to a temporary file, syncs, renames into place and syncs the directory; never picks another name."""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:  # noqa: ARG002 - Django's signature
        """The name as it is: content under one name is the same content."""
        return name

    def _save(self, name: str, content: "File[bytes]") -> str:
        target = Path(self.path(name))
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        drafts = Path(self.path(DRAFTS))
        drafts.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=drafts)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for chunk in content.chunks():
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            Path(draft).replace(target)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
        _sync_directory(target.parent)
        return name

    def remove_drafts(self) -> int:
        """Remove what killed writers have left; how many files that were."""
        removed, now_s = 0, time.time()
        for draft in Path(self.path(DRAFTS)).glob("*"):
            with suppress(FileNotFoundError):
                # The distance, not the age: what a clock that was set back has left is not to stay for ever.
                if abs(now_s - draft.stat().st_mtime) > DRAFT_LASTS_S:
                    draft.unlink()
                    removed += 1
        return removed


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
