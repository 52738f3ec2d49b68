"""The repository of agent releases as the platform serves it: signed files in its storage, unchanged."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from django.core.cache import cache

from coterie.core.errors import CoterieError, ErrorKind
from coterie.releases.repository import Repository, number_of
from coterie.storage.interface import Store, store_of

PARTS = ("metadata", "targets")
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+!-]{0,249}")
NEWEST = "timestamp.json"
"""The only file whose content changes."""
ROOT_KEY = "releases.root"
ROOT_KNOWN_S = 60.0
"""Every device that joins is sent the newest root, which is read from the storage at most this often."""


class UnknownReleaseFile(CoterieError):
    """The repository of releases has no such file, or the platform has no repository."""

    code = "releases.unknown_file"
    kind = ErrorKind.NOT_FOUND
    sentence = "The repository of releases has no {name!r}."


def release_store() -> Store:
    """The storage of the repository, shared by all processes of the platform."""
    return store_of("releases")


def open_release_file(part: str, name: str) -> BinaryIO:
    """A file of ``metadata`` or ``targets``. Raises UnknownReleaseFile or StorageUnavailable."""
    if part not in PARTS or not FILE_NAME.fullmatch(name):
        raise UnknownReleaseFile(name=name[:100])
    try:
        return open_stored(f"{part}/{name}")
    except FileNotFoundError as error:
        raise UnknownReleaseFile(name=name) from error


def newest_root() -> bytes | None:
    """The root that devices pin when they join; None: the platform has no repository. Raises StorageUnavailable."""
    root = cache.get(ROOT_KEY)
    if root is None:
        root = _newest_root()
        cache.set(ROOT_KEY, root, timeout=ROOT_KNOWN_S)
    return cast(bytes, root) or None


@contextmanager
def published_metadata() -> Iterator[Repository | None]:
    """A copy of the repository without its wheels, as long as the block lasts; None: the platform has none.

    Raises StorageUnavailable.
    """
    with tempfile.TemporaryDirectory(prefix="coterie-releases-") as directory:
        copied = Repository(Path(directory))
        copied.metadata.mkdir()
        for name in release_store().sizes("metadata"):
            with suppress(FileNotFoundError):  # another process publishes, and the file is no longer needed
                (copied.metadata / name).write_bytes(_read(f"metadata/{name}"))
        yield copied if (copied.metadata / NEWEST).exists() else None


def open_stored(name: str) -> BinaryIO:
    """A file by its name below the repository. Raises FileNotFoundError or StorageUnavailable."""
    return cast(BinaryIO, release_store().open(name, "rb"))


def _read(name: str) -> bytes:
    with open_stored(name) as file:
        return file.read()


def _newest_root() -> bytes:
    """Nothing where there is none."""
    names = release_store().sizes("metadata")
    roots = sorted((Path(name) for name in names if name.endswith(".root.json")), key=number_of)
    return _read(f"metadata/{roots[-1]}") if roots and NEWEST in names else b""
