"""Files of which no row tells: left by a writer that was killed, or by a database that was taken back to a moment."""

from collections.abc import Iterator
from datetime import datetime

from coterie.registry.collecting import Collected
from coterie.registry.content import BLOBS
from coterie.registry.models import Blob
from coterie.registry.selectors import SHA256
from coterie_wire.bundle import BlobRef

LOOKED_UP = 500
"""Rows that are asked for at once."""


def record_strays(*, now: datetime, dry_run: bool = False) -> Collected:
    """Give each such file a row, as one that nothing needs: it goes with others that are not needed, a day later.

    Whoever writes a file for which there is no row yet finds this one, which is then as any other. Where another
    platform keeps its files in the same place they would be taken for strays.
    """
    found = list(_strays())
    if not dry_run:
        rows = [Blob(sha256=stray.sha256, size_bytes=stray.size_bytes, created_at=now) for stray in found]
        Blob.objects.bulk_create(rows, batch_size=LOOKED_UP, ignore_conflicts=True)
    return Collected(len(found), sum(stray.size_bytes for stray in found))


def _strays() -> Iterator[BlobRef]:
    batch: list[BlobRef] = []
    for kept in BLOBS.all():
        if SHA256.fullmatch(kept.sha256):
            batch.append(kept)
        if len(batch) == LOOKED_UP:
            yield from _without_rows(batch)
            batch = []
    yield from _without_rows(batch)


def _without_rows(batch: list[BlobRef]) -> Iterator[BlobRef]:
    known = set(Blob.objects.filter(pk__in=[kept.sha256 for kept in batch]).values_list("pk", flat=True))
    return (kept for kept in batch if kept.sha256 not in known)
