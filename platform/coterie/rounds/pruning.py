"""Removes parts in old rounds that came to nothing; what was delivered stays, as receipts and versions rest on it."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet

from coterie.core.rows import PARTS, delete_in_parts
from coterie.rounds.models import Assignment

AT_ONCE = 5_000


def old_parts(*, now: datetime) -> QuerySet[Assignment]:
    """Parts without an update in rounds that were tidied, and ended longer ago than the setting says; the oldest first.

    None where it keeps all. Not those that may still deliver to a later round.
    """
    if not settings.KEEP_PARTS_DAYS:
        return Assignment.objects.none()
    before = now - timedelta(days=settings.KEEP_PARTS_DAYS)
    may_come_back = Q(state=Assignment.State.DROPPED, round__carries_on=True)
    ended = Assignment.objects.filter(state__in=Assignment.IN_VAIN, update=None, changed_at__lt=before)
    tidied = ended.filter(round__finished_at__lt=before, round__tidied_at__isnull=False)
    return tidied.exclude(may_come_back).order_by("changed_at")


def prune_parts(*, now: datetime, parts: int = PARTS) -> int:
    """Remove them, with their routes; how many. What is left after so many statements is for the next call."""
    return delete_in_parts(old_parts(now=now), at_once=AT_ONCE, parts=parts)
