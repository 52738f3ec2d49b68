"""Removes the bytes of blobs not in use; the rows stay, so that a version without parameters has its figures."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, Model, OuterRef, Q, QuerySet
from django.db.models.functions import Mod

from coterie.registry.content import BLOBS
from coterie.registry.models import Alias, Blob, ModelVersion, TeacherWeights, Variant, VersionDifference
from coterie.registry.selectors import references

GRACE = timedelta(days=1)
"""How long a new blob is stored without a row that refers to it, such as a candidate's during its evaluation."""


@dataclass(frozen=True)
class Retention:
    """Which versions keep their parameters although nothing uses them."""

    latest: int
    """The number of latest versions of each lineage that keep them; 0: all."""
    every: int
    """Versions whose number is a multiple of this keep them, as milestones; 0: none."""


@dataclass(frozen=True)
class Collected:
    """What was removed, or would be removed."""

    blobs: int
    size_bytes: int


def collect(
    *,
    retention: Retention,
    in_use: Callable[[], set[UUID]],
    now: datetime,
    at_once: int | None = None,
    dry_run: bool = False,
) -> Collected:
    """Remove blobs that no retained version, and no other row, needs; at most `at_once` of them.

    `in_use` returns the versions that rounds, devices and the like need. It is called again for each blob while the
    blob's row is locked, so that code that begins to need a version (`hold_version`) either does so before, or is told
    that it is gone.
    """
    blobs, size_bytes = 0, 0
    for blob in _unneeded(retention, in_use(), now)[:at_once]:
        if dry_run or _remove(blob, retention, in_use, now):
            blobs, size_bytes = blobs + 1, size_bytes + blob.size_bytes
    return Collected(blobs, size_bytes)


@transaction.atomic
def _remove(blob: Blob, retention: Retention, in_use: Callable[[], set[UUID]], now: datetime) -> bool:
    Blob.objects.select_for_update(no_key=True).get(pk=blob.pk)
    if not _unneeded(retention, in_use(), now).filter(pk=blob.pk).exists():
        return False
    Blob.objects.filter(pk=blob.pk).update(removed_at=now)
    BLOBS.delete(blob.pk)
    return True


def retire(*, versions: Collection[UUID], in_use: Callable[[], set[UUID]], now: datetime) -> Collected:
    """Remove the bytes of `versions`, whatever the retention says; versions that are in use stay.

    Blobs that another version has too stay. `in_use` is called as by `collect`.
    """
    blobs, size_bytes = 0, 0
    for key in blobs_of(versions):
        removed = _retire(key, versions, in_use, now)
        blobs, size_bytes = blobs + bool(removed), size_bytes + removed
    return Collected(blobs, size_bytes)


def blobs_of(versions: Collection[UUID]) -> list[str]:
    """The stored blobs of `versions`, and of the rows derived from them."""
    found: set[str] = set()
    for model, column in references():
        of = _version_column(model)
        if of is not None:
            found.update(model._default_manager.filter(**{f"{of}__in": versions}).values_list(column, flat=True))
    return list(Blob.objects.filter(pk__in=found, removed_at=None).order_by("pk").values_list("pk", flat=True))


@transaction.atomic
def _retire(key: str, versions: Collection[UUID], in_use: Callable[[], set[UUID]], now: datetime) -> int:
    """The number of bytes that were removed; 0: the blob is needed."""
    blob = Blob.objects.select_for_update(no_key=True).get(pk=key)
    free = set(versions) - in_use()
    for model, column in references():
        rows = model._default_manager.filter(**{column: key})
        of = _version_column(model)
        if (rows if of is None else rows.exclude(**{f"{of}__in": free})).exists():
            return 0
    Blob.objects.filter(pk=key).update(removed_at=now)
    BLOBS.delete(key)
    return blob.size_bytes


def _version_column(model: type[Model]) -> str | None:
    """The column by which a row with a blob is a version, or refers to one; None: there is none."""
    if model is ModelVersion:
        return "pk"
    return "version" if model in (TeacherWeights, VersionDifference, Variant) else None


def _unneeded(retention: Retention, in_use: set[UUID], now: datetime) -> QuerySet[Blob]:
    """Stored blobs that nothing needs."""
    retained = ModelVersion.objects.filter(_is_retained(retention) | Q(pk__in=in_use)).values("pk")
    old = Q(created_at__lt=now - GRACE) & (Q(kept_at=None) | Q(kept_at__lt=now - GRACE))
    blobs = Blob.objects.filter(old, removed_at=None)
    for model, column in references():
        rows = model._default_manager.filter(**{column: OuterRef("pk")})
        if model is ModelVersion:
            rows = rows.filter(pk__in=retained)
        elif model in (TeacherWeights, VersionDifference):
            rows = rows.filter(version__in=retained)
        blobs = blobs.filter(~Exists(rows))
    return blobs.order_by("created_at")


def _is_retained(retention: Retention) -> Q:
    """The filter for versions to retain: in use, rollback targets, the latest and the milestones of each lineage."""
    if not retention.latest:
        return Q(pk__isnull=False)
    champions = Alias.objects.filter(version=OuterRef("pk"))
    children = ModelVersion.objects.filter(parent=OuterRef("pk"), aliases__isnull=False)
    newer = ModelVersion.objects.filter(
        pair=OuterRef("pair"),
        role=OuterRef("role"),
        lineage=OuterRef("lineage"),
        number__gte=OuterRef("number") + retention.latest,
    )
    found = Q(Exists(champions)) | Q(Exists(children)) | ~Q(Exists(newer)) | Q(number=1)
    return found | Q(Exists(_milestones(retention.every))) if retention.every else found


def _milestones(every: int) -> QuerySet[ModelVersion]:
    rest = ModelVersion.objects.alias(rest=Mod(F("number"), every))
    return rest.filter(pk=OuterRef("pk"), rest=0)
