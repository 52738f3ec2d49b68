"""Files without a row: left by a writer that was killed, or by a database that was restored to an earlier moment."""

from collections.abc import Iterator
from datetime import datetime

from coterie.registry.collecting import Collected
from coterie.registry.content import BLOBS
from coterie.registry.models import Blob
from coterie.registry.selectors import SHA256
from coterie_wire.bundle import BlobRef

LOOKED_UP = 500
"""Rows per query."""


def record_strays(*, now: datetime, dry_run: bool = False) -> Collected:
    """Create a row for each such file, as a blob that nothing needs: it is removed with other unneeded ones in a day.

    A writer that stores the same file meanwhile uses this row like any other. Where another platform stores its files
    in the same place, they would be taken for strays.
    """
    found = list(_strays())
    if not dry_run:
        rows = [Blob(sha256=stray.sha256, size_bytes=stray.size_bytes, created_at=now) for stray in found]
        Blob.objects.bulk_create(rows, batch_size=LOOKED_UP, ignore_conflicts=True)
    return Collected(len(found), sum(stray.size_bytes for stray in found))


def _strays() -> Iterator[BlobRef]:
    batch: list[BlobRef] = []
    for blob in BLOBS.all():
        if SHA256.fullmatch(blob.sha256):
            batch.append(blob)
        if len(batch) == LOOKED_UP:
            yield from _without_rows(batch)
            batch = []
    yield from _without_rows(batch)


def _without_rows(batch: list[BlobRef]) -> Iterator[BlobRef]:
    existing = set(Blob.objects.filter(pk__in=[blob.sha256 for blob in batch]).values_list("pk", flat=True))
    return (blob for blob in batch if blob.sha256 not in existing)
