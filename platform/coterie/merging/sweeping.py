"""Finds merges without a worker, and removes files of those that have ended."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from coterie.core.lease import LEASE, SKEW, lapsed
from coterie.core.postponing import is_due
from coterie.core.resting import LONGEST_S
from coterie.merging import reasons
from coterie.merging.checkpoints import delete_checkpoints, merges_with_checkpoints
from coterie.merging.jobs import MERGE
from coterie.merging.models import Merge
from coterie.merging.transitions import MAX_ATTEMPTS, State, end


def sweep(*, now: datetime) -> float:
    """Queue every merge that no worker holds; this alone is enough for each to end.

    Returns the seconds until one may become due by the clock alone.
    """
    if not Merge.objects.filter(state=State.RUNNING).exists():
        return LONGEST_S
    unanswered = Q(lease_until=None) & (Q(reason_at__lt=now - LEASE / 6) | Q(reason_at__gt=now + SKEW))
    for merge in Merge.objects.filter(lapsed(now) | unanswered, is_due(now), state=State.RUNNING):
        with transaction.atomic():
            if merge.attempts < MAX_ATTEMPTS:
                MERGE.send(merge=merge.pk)
            else:
                reason = merge.reason() if merge.reason_code == reasons.FAILED else None
                end(merge, State.ABANDONED, reason=reason or reasons.GAVE_UP, metrics={}, now=now)
    return 0.0


def tidy() -> None:
    """Remove the checkpoints of merges that ended while their worker died, or that were deleted."""
    stored = merges_with_checkpoints()
    running = Merge.objects.filter(pk__in=stored, state=State.RUNNING).values_list("pk", flat=True)
    for merge_id in stored - set(running):
        delete_checkpoints(merge_id)
