"""Old help requests without a portion are deleted; others stay, because the receipts of the helpers refer to them."""

from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet

from coterie.core.pruning import OldRows
from coterie.transfer.models import HelpRequest, Transfer


def requests_in_vain(before: datetime) -> QuerySet[HelpRequest]:
    """Requests that ended without a portion, the oldest first, with the helpers that were tried."""
    brought = Transfer.objects.filter(request=OuterRef("pk"), delivered_at__isnull=False)
    ended = HelpRequest.objects.filter(state__in=HelpRequest.IN_VAIN, finished_at__lt=before)
    return ended.filter(~Exists(brought)).order_by("finished_at")


OLD_ROWS = (OldRows("requests for help that brought none", requests_in_vain, at_once=1_000),)
