"""Deletes assignments of old rounds: those without an update, and merged ones, which are folded into their updates.

An update, on which receipts and versions depend, then stores when its device was invited; everything else about its
assignment is in it or follows from it: its device and base, its merge's round, and by its cohort the inviting round.
"""

from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery

from coterie.core.pruning import OldRows
from coterie.merging.models import Merge, Update
from coterie.rounds import histories
from coterie.rounds.models import Assignment, Round


def parts_in_vain(before: datetime) -> QuerySet[Assignment]:
    """Assignments without an update in rounds that were tidied, the oldest first, with their routes.

    Excludes those that may still deliver to a later round.
    """
    may_come_back = Q(state=Assignment.State.DROPPED, round__carries_on=True)
    ended = Assignment.objects.filter(state__in=Assignment.IN_VAIN, update=None, changed_at__lt=before)
    tidied = ended.filter(round__finished_at__lt=before, round__tidied_at__isnull=False)
    return tidied.exclude(may_come_back).order_by("changed_at")


def merged_parts(before: datetime) -> QuerySet[Assignment]:
    """Assignments whose update went into a merge that has ended, the oldest first, with their routes.

    Excludes those of rounds whose files are stored or whose history selections still read, and those that learned from
    a version of the cloud model, which only the assignment names.
    """
    delivered = Assignment.objects.filter(
        state=Assignment.State.DELIVERED, update__isnull=False, taken_by__isnull=False, teacher=None
    )
    ended = delivered.filter(
        changed_at__lt=before,
        round__finished_at__lt=before,
        round__tidied_at__isnull=False,
        taken_by__finished_at__lt=before,
        taken_by__tidied_at__isnull=False,
        update__merge__state__in=(Merge.State.PUBLISHED, Merge.State.ABANDONED),
    )
    later = Round.objects.filter(
        federation=OuterRef("round__federation"), number__gt=OuterRef("round__number") + histories.LOOKBACK_ROUNDS
    )
    return ended.filter(Exists(later)).order_by("changed_at")


def count_removed(parts: QuerySet[Assignment]) -> None:
    """Add assignments that are about to be deleted to the `removed_parts` of their rounds."""
    own = parts.filter(round=OuterRef("pk")).order_by().values("round")
    rounds = Round.objects.filter(pk__in=parts.order_by().values("round"))
    gone = Subquery(own.annotate(count=Count("pk")).values("count"))
    rounds.update(removed_parts=F("removed_parts") + gone)


def fold_into_updates(parts: QuerySet[Assignment]) -> None:
    """Copy into updates what only their assignments store, which are about to be deleted."""
    own = Subquery(Assignment._base_manager.filter(pk=OuterRef("pk")).values("offered_at"))
    Update.objects.filter(pk__in=parts.order_by().values("pk")).update(offered_at=own)
    count_removed(parts)


OLD_ROWS = (
    OldRows("parts in rounds that delivered nothing", parts_in_vain, fold=count_removed),
    OldRows("parts in rounds that were merged", merged_parts, fold=fold_into_updates),
)
