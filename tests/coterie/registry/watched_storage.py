"""A storage that knows whether somebody holds a transaction open while it writes."""

from django.core.files.base import File
from django.db import connection

from coterie.storage.files import DurableFileSystemStorage

held: list[bool] = []
"""For each file that was written."""


class WatchedStorage(DurableFileSystemStorage):
    def _save(self, name: str, content: "File[bytes]") -> str:
        held.append(connection.in_atomic_block)
        return super()._save(name, content)
