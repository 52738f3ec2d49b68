"""Which versions are in use: by a round, a merge, a roll-out, an evaluation or a device."""

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from coterie.alliances.selectors import versions_of_alliances
from coterie.fleet.models import Device
from coterie.fleet_evaluation.selectors import active_evaluations
from coterie.merging.models import Merge, Update
from coterie.registry.collecting import Collected, Retention, collect
from coterie.rollouts.models import Rollout
from coterie.rounds.models import Assignment, Round

BLOBS_AT_ONCE = 1_000
"""As many as the rounds that are tidied in one run."""


def collect_blobs(*, now: datetime, at_once: int | None = BLOBS_AT_ONCE, dry_run: bool = False) -> Collected:
    """Remove blobs that are not needed, by the retention of the settings."""
    retention = Retention(latest=settings.KEEP_VERSIONS, every=settings.KEEP_EVERY)
    return collect(retention=retention, in_use=versions_in_use, now=now, at_once=at_once, dry_run=dry_run)


def versions_in_use() -> set[UUID]:
    """The versions that a device may fetch, a merge read or an operator return to.

    A round's versions are needed as long as its updates are stored, since they may be merged again.
    """
    return versions_at_work() | _versions_of(Round.objects.filter(tidied_at=None))


def versions_at_work() -> set[UUID]:
    """The versions that current work reads or may read, even those that contain a forgotten device's updates."""
    carried = Assignment.objects.filter(state__in=Assignment.UNENDED, round__carries_on=True)
    rollouts = Rollout.objects.filter(state__in=Rollout.ACTIVE)
    found = {
        *_versions_of(Round.objects.filter(state__in=Round.ACTIVE)),
        *carried.values_list("base_version", flat=True),
        *Merge.objects.filter(state=Merge.State.RUNNING).values_list("base_version", flat=True),
        *Update.objects.filter(merge__state=Merge.State.RUNNING).values_list("base_version", flat=True),
        *rollouts.values_list("version", flat=True),
        *rollouts.values_list("champion", flat=True),
        *versions_of_alliances().values_list("version", flat=True),
        *active_evaluations().values_list("version", flat=True),
    }
    pinned = Device.objects.exclude(pinned_version="").values_list("pinned_version", flat=True)
    return {version for version in found if version is not None} | {UUID(version) for version in pinned}


def _versions_of(rounds: QuerySet[Round]) -> set[UUID]:
    parts = Assignment.objects.filter(round__in=rounds)
    found = {
        *rounds.values_list("base_version", flat=True),
        *parts.values_list("base_version", flat=True),
        *parts.values_list("teacher", flat=True),
    }
    return {version for version in found if version is not None}
