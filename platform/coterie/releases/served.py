"""The repository of agent releases that this platform passes on to devices, as it is."""

import re
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from coterie.core.errors import CoterieError, ErrorKind
from coterie.releases.repository import Repository

FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+!-]{0,249}")
NEWEST = "timestamp.json"
"""The only file whose content changes."""


class UnknownReleaseFile(CoterieError):
    """The repository of releases has no such file, or the platform has no repository."""

    code = "releases.unknown_file"
    kind = ErrorKind.NOT_FOUND
    sentence = "The repository of releases has no {name!r}."


def served_releases() -> Repository | None:
    """The one that the settings name; None: none is."""
    return None if settings.RELEASES is None else Repository(settings.RELEASES)


def open_release_file(part: str, name: str) -> BinaryIO:
    """A file of ``metadata`` or ``targets``. Raises UnknownReleaseFile."""
    releases = served_releases()
    folders: dict[str, Path] = {}
    if releases is not None:
        folders = {"metadata": releases.metadata, "targets": releases.targets}
    try:
        if part not in folders or not FILE_NAME.fullmatch(name):
            raise UnknownReleaseFile(name=name[:100])
        return (folders[part] / name).open("rb")
    except OSError as error:
        raise UnknownReleaseFile(name=name) from error
