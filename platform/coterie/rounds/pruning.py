"""Parts in old rounds that came to nothing may go; what was delivered stays, as receipts and versions rest on it."""

from datetime import datetime

from django.db.models import Q, QuerySet

from coterie.core.pruning import OldRows
from coterie.rounds.models import Assignment


def parts_in_vain(before: datetime) -> QuerySet[Assignment]:
    """Parts without an update in rounds that were tidied, the oldest first, with their routes.

    Not those that may still deliver to a later round.
    """
    may_come_back = Q(state=Assignment.State.DROPPED, round__carries_on=True)
    ended = Assignment.objects.filter(state__in=Assignment.IN_VAIN, update=None, changed_at__lt=before)
    tidied = ended.filter(round__finished_at__lt=before, round__tidied_at__isnull=False)
    return tidied.exclude(may_come_back).order_by("changed_at")


OLD_ROWS = (OldRows("parts in rounds that delivered nothing", parts_in_vain),)
