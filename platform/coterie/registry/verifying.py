"""Blobs are hashed before they are used, and periodically: a damaged one is replaced by a copy, or never served.

Copies are backups that the operator names: their files lie as those of the state directory do.
"""

import hashlib
import logging
import threading
import time
from collections import OrderedDict
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from coterie.core.events import notify_consoles
from coterie.registry.content import BLOBS, ContentStore
from coterie.registry.errors import BlobDamaged
from coterie.registry.models import Blob
from coterie.storage.files import DurableFileSystemStorage
from coterie.storage.interface import store_of
from coterie_wire.bundle import BlobRef

logger = logging.getLogger(__name__)

FRESH_S = 3600.0
"""A blob that this process has hashed this recently is sent without another check; devices hash it themselves."""
FRESH_KEPT = 1024
CHUNK_BYTES = 1 << 20
EVERY = timedelta(days=7)
"""How often each blob is read."""
DAMAGED_EVERY = timedelta(minutes=10)
"""How often a damaged blob is checked again: an operator may have restored it."""
BYTES_AT_ONCE = 64 << 20
"""Read in one turn of scrubbing, or one blob if that is larger: a mebibyte a second, as there is a turn each minute."""


OLDEST = 3
"""So many of the oldest blobs are looked for at a start: one that is lost is a damaged file, all are another place."""


class Scrubbed(NamedTuple):
    """What was read."""

    files: int
    size_bytes: int
    repaired: tuple[str, ...]
    """Hashes of damaged files that were replaced by a copy."""
    damaged: tuple[str, ...]
    """Hashes of damaged files without a copy."""


def is_elsewhere() -> bool:
    """Whether this machine's directory of files is not that of the platform: none of its oldest files is there that is
    not known to be lost, as where a share is not mounted. An object storage says by itself that a bucket is missing."""
    store = store_of("default")
    if not isinstance(store, DurableFileSystemStorage):
        return False
    known = Blob.objects.filter(removed_at=None, damaged_at=None).order_by("created_at")
    oldest = known.values_list("sha256", flat=True)[:OLDEST]
    places = [Path(store.location).parent / BLOBS.place(sha256) for sha256 in oldest]
    return bool(places) and not any(place.exists() for place in places)


class _Fresh:
    """Which blobs this process has recently verified."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found_at: OrderedDict[str, float] = OrderedDict()

    def has(self, sha256: str) -> bool:
        with self._lock:
            return time.monotonic() - self._found_at.get(sha256, float("-inf")) < FRESH_S

    def add(self, sha256: str) -> None:
        with self._lock:
            self._found_at[sha256] = time.monotonic()
            self._found_at.move_to_end(sha256)
            while len(self._found_at) > FRESH_KEPT:
                self._found_at.popitem(last=False)

    def remove(self, sha256: str) -> None:
        with self._lock:
            self._found_at.pop(sha256, None)


_FRESH = _Fresh()


def open_blob(sha256: str, *, now: datetime) -> BinaryIO:
    """A blob's bytes, which this process has hashed within the hour. Raises BlobDamaged."""
    if not _FRESH.has(sha256):
        check(sha256, now=now)
    try:
        return BLOBS.open(sha256)
    except FileNotFoundError:
        check(sha256, now=now)  # which finds a copy, or says what is wrong
        return BLOBS.open(sha256)


def blob_url(sha256: str, *, lasts: timedelta, now: datetime) -> str | None:
    """A URL where a blob, hashed within the hour, can be read for the time `lasts`; None: only the platform serves it.

    Raises BlobDamaged.
    """
    if not _FRESH.has(sha256):
        check(sha256, now=now)
    return BLOBS.signed_url(sha256, lasts)


def sound_path(sha256: str, directory: Path, *, now: datetime) -> Path:
    """A path where this machine can read a blob's bytes, hashed now: `ContentStore.local_path`. Raises BlobDamaged."""
    check(sha256, now=now)
    return BLOBS.local_path(sha256, directory)


def scrub(*, now: datetime, bytes_at_once: int | None = BYTES_AT_ONCE) -> Scrubbed:
    """Read `bytes_at_once` of the blobs, those read longest ago first; None: all there are."""
    wanted = Blob.objects.filter(removed_at=None)
    if bytes_at_once is not None:
        due = Q(verified_at=None) | Q(verified_at__lt=now - EVERY) | Q(verified_at__gt=now + EVERY)
        wanted = wanted.filter(due | Q(damaged_at__isnull=False, verified_at__lt=now - DAMAGED_EVERY))
    repaired, damaged, blobs, size_bytes = [], [], 0, 0
    for blob in wanted.order_by(F("verified_at").asc(nulls_first=True), "pk").iterator(chunk_size=100):
        if bytes_at_once is not None and blobs and size_bytes + blob.size_bytes > bytes_at_once:
            break
        blobs, size_bytes = blobs + 1, size_bytes + blob.size_bytes
        try:
            if check(blob.pk, now=now):
                repaired.append(blob.pk)
        except BlobDamaged:
            damaged.append(blob.pk)
        Blob.objects.filter(pk=blob.pk).update(verified_at=now)
    return Scrubbed(blobs, size_bytes, tuple(repaired), tuple(damaged))


def check(sha256: str, *, now: datetime) -> bool:
    """Verify a blob, replacing it by a copy if it is damaged; whether it was replaced. Raises BlobDamaged."""
    replaced = False
    if not is_sound(BLOBS, sha256):
        replaced = replace_by_copy(BLOBS, sha256)
        if not replaced:
            _FRESH.remove(sha256)
            _mark(sha256, now)
            raise BlobDamaged(sha256=sha256)
    _FRESH.add(sha256)
    if Blob.objects.filter(pk=sha256, damaged_at__isnull=False).update(damaged_at=None, verified_at=now) or replaced:
        notify_consoles("registry")
        logger.warning("blob %s was damaged and is sound again", sha256)
    return replaced


def is_sound(store: ContentStore, sha256: str) -> bool:
    """Whether the bytes in `store` have their hash."""
    try:
        with store.open(sha256) as file:
            return sha256_of(file) == sha256
    except OSError:  # it is gone, or the disk cannot read it
        return False


def sha256_of(file: BinaryIO) -> str:
    """SHA-256 of the rest of the file."""
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


@transaction.atomic
def _mark(sha256: str, now: datetime) -> None:
    """Record that the blob is damaged, unless it was removed meanwhile because nothing needs it."""
    if Blob.objects.filter(pk=sha256, removed_at=None, damaged_at=None).update(damaged_at=now, verified_at=now):
        notify_consoles("registry")
        logger.error("blob %s is lost or damaged, and no copy of it was found", sha256)


def replace_by_copy(store: ContentStore, sha256: str) -> bool:
    """Replace damaged bytes in `store` by a copy; whether one was found."""
    for directory in settings.COPIES:
        copy = Path(directory) / store.place(sha256)
        try:
            with copy.open("rb") as file:
                if sha256_of(file) != sha256:
                    continue
                file.seek(0)
                store.replace(BlobRef(sha256, copy.stat().st_size), file)
        except OSError:
            continue
        return is_sound(store, sha256)
    return False
