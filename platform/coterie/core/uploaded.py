"""Uploaded files as files with a path."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile


@contextmanager
def on_disk(uploaded: "UploadedFile[bytes]") -> Iterator[Path]:
    """The uploaded file as one with a path, as long as the block lasts."""
    if isinstance(uploaded, TemporaryUploadedFile):
        yield Path(uploaded.temporary_file_path())
        return
    with tempfile.NamedTemporaryFile(prefix="coterie-upload-") as file:
        for chunk in uploaded.chunks():
            file.write(chunk)
        file.flush()
        yield Path(file.name)
