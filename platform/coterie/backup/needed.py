"""The files that a platform needs beside its database: blobs, updates that can still be merged, agent releases."""

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from django.conf import settings

from coterie.backup.index import BackupFile
from coterie.merging.files import updates_of
from coterie.merging.models import Partial, Update
from coterie.registry.content import BLOBS, ContentStore
from coterie.registry.models import Blob
from coterie.releases.served import PARTS, open_stored, release_store
from coterie.rounds.models import Round

KEYS = ("secret-key", "signing-key", "device-ca-key", "device-ca-key.next")
"""Made by embedded mode; in scaled mode the environment has them."""


class Needed(NamedTuple):
    """A file, and how it is opened. Opening raises FileNotFoundError."""

    file: BackupFile
    open: Callable[[], BinaryIO]


def needed_files() -> list[Needed]:
    """Those that the database needs, and the repository of agent releases."""
    kept = Round.objects.filter(tidied_at=None).values("pk")
    updates = Update.objects.filter(cohort__in=kept, partial=None)
    partials = Partial.objects.filter(cohort__in=kept)
    found = [
        _stored(BLOBS, sha256, size_bytes)
        for sha256, size_bytes in Blob.objects.filter(removed_at=None)
        .order_by("created_at")
        .values_list("sha256", "size_bytes")
    ]
    found += [
        _stored(updates_of(cohort), sha256, size_bytes)
        for files in (updates, partials)
        for cohort, sha256, size_bytes in files.order_by("received_at").values_list("cohort", "sha256", "size_bytes")
    ]
    found += _releases()
    # Two devices may send the same bytes in one round.
    return list({needed.file.path: needed for needed in found}.values())


def key_files() -> list[Path]:
    """The platform's own secrets, where it keeps them in files."""
    return [path for path in (Path(settings.STATE) / name for name in KEYS) if path.exists()]


def _stored(store: ContentStore, sha256: str, size_bytes: int) -> Needed:
    return Needed(BackupFile(store.place(sha256), sha256, size_bytes), lambda: store.open(sha256))


def _releases() -> Iterator[Needed]:
    """Nobody publishes while a backup copies files."""
    store = release_store()
    for part in PARTS:
        for name, size_bytes in store.sizes(part).items():
            opened = partial(open_stored, f"{part}/{name}")
            if part == "targets":
                sha256 = name.partition(".")[0]
            else:
                with opened() as file:
                    sha256 = hashlib.sha256(file.read()).hexdigest()
            yield Needed(BackupFile(store.place(f"{part}/{name}"), sha256, size_bytes), opened)
