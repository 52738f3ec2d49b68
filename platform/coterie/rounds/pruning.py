"""Parts in old rounds that came to nothing go, and those that were merged are folded into their updates.

An update, on which receipts and versions rest, then says by itself when its device was asked; all else that its part
told stands in it, or follows from it: its device and base, its merge's round, and by its cohort the round that asked.
"""

from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery

from coterie.core.pruning import OldRows
from coterie.merging.models import Merge, Update
from coterie.rounds import histories
from coterie.rounds.models import Assignment, Round


def parts_in_vain(before: datetime) -> QuerySet[Assignment]:
    """Parts without an update in rounds that were tidied, the oldest first, with their routes.

    Not those that may still deliver to a later round.
    """
    may_come_back = Q(state=Assignment.State.DROPPED, round__carries_on=True)
    ended = Assignment.objects.filter(state__in=Assignment.IN_VAIN, update=None, changed_at__lt=before)
    tidied = ended.filter(round__finished_at__lt=before, round__tidied_at__isnull=False)
    return tidied.exclude(may_come_back).order_by("changed_at")


def merged_parts(before: datetime) -> QuerySet[Assignment]:
    """Parts whose update went into a merge that has ended, the oldest first, with their routes.

    Not those of rounds whose files are kept or by which devices are still chosen, and not those that learned from a
    version of the cloud model, which nothing else names.
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
        federation=OuterRef("round__federation"), number__gt=OuterRef("round__number") + histories.REMEMBERED
    )
    return ended.filter(Exists(later)).order_by("changed_at")


def count_removed(parts: QuerySet[Assignment]) -> None:
    """Add parts that are about to go to what their rounds say of such."""
    own = parts.filter(round=OuterRef("pk")).order_by().values("round")
    rounds = Round.objects.filter(pk__in=parts.order_by().values("round"))
    gone = Subquery(own.annotate(count=Count("pk")).values("count"))
    rounds.update(removed_parts=F("removed_parts") + gone)


def fold_into_updates(parts: QuerySet[Assignment]) -> None:
    """Have the updates of parts that are about to go say what these alone say."""
    own = Subquery(Assignment._base_manager.filter(pk=OuterRef("pk")).values("offered_at"))
    Update.objects.filter(pk__in=parts.order_by().values("pk")).update(offered_at=own)
    count_removed(parts)


OLD_ROWS = (
    OldRows("parts in rounds that delivered nothing", parts_in_vain, fold=count_removed),
    OldRows("parts in rounds that were merged", merged_parts, fold=fold_into_updates),
)
