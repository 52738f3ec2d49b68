"""The interface of storages; `tests/coterie/storage/conformance.py` checks each implementation."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import timedelta
from typing import cast

from django.core.files.storage import Storage, storages

from coterie.core.away import AWAY, STORAGE
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.metrics import STORAGE_FAILURES


class StorageUnavailable(CoterieError):
    """The store does not answer, or not correctly; what is stored there is neither lost nor damaged."""

    code = "storage.unavailable"
    kind = ErrorKind.UNAVAILABLE
    sentence = "The file storage does not answer as it should: {problem}."

    def __init__(self, *, problem: str) -> None:
        super().__init__(problem=problem)
        STORAGE_FAILURES.inc()
        AWAY.record_failure(STORAGE)


class Store(Storage, ABC):
    """Names with bytes. A name's bytes MUST be whole or absent, whatever breaks off; any process sees what one kept.

    `open` and `delete` are Django's: `open` MUST return what can be read and sought, and raise FileNotFoundError where
    the name has no bytes; `delete` of such a name MUST do nothing. Where a store cannot be reached each method MUST
    raise `StorageUnavailable`, and never call what is there missing.
    """

    def get_available_name(self, name: str, max_length: int | None = None) -> str:  # noqa: ARG002 - Django's signature
        """The name as it is: `save` replaces what it has."""
        return name

    @abstractmethod
    def create(self, name: str, content: bytes) -> bool:
        """Store `content` unless the name has bytes already. Of concurrent calls some succeed; the bytes of one stay.

        One succeeds with files and with AWS; not every store that speaks S3 looks and writes in one step. False may
        also mean that this very call kept it, and that the answer was lost and asked for again.
        """

    @abstractmethod
    def sizes(self, folder: str) -> Mapping[str, int]:
        """The size in bytes of each name in `folder`, by the part of the name behind it; folders in it are left out."""

    @abstractmethod
    def folders(self, folder: str = "") -> set[str]:
        """The folders in `folder` that contain names, relative to it."""

    @abstractmethod
    def clear(self, folder: str) -> None:
        """Remove all names in `folder` and below it."""

    @abstractmethod
    def place(self, name: str) -> str:
        """The path of the bytes in a backup of the platform, relative to its top."""

    @abstractmethod
    def remove_drafts(self) -> int:
        """Delete drafts left by killed writers; returns how many."""

    @abstractmethod
    def signed_url(self, name: str, lasts: timedelta) -> str | None:
        """A URL where the bytes can be read for the time `lasts`; None where this store serves none itself."""


def store_of(alias: str) -> Store:
    """The store that the settings call `alias`."""
    return cast(Store, storages[alias])
