"""When the clock is set back, a help request does not last longer by as much."""

from datetime import datetime

from django.db import transaction

from coterie.core.lease import SKEW
from coterie.transfer.models import HelpRequest, Transfer


@transaction.atomic
def follow_clock(*, now: datetime) -> None:
    """Restart from `now` every period that began in the future; each keeps its length."""
    ahead = now + SKEW
    for request in HelpRequest.objects.select_for_update(no_key=True).filter(
        state__in=HelpRequest.LIVE, changed_at__gt=ahead
    ):
        request.due_at -= request.changed_at - now
        request.changed_at, request.searched_at = now, None
        request.save(update_fields=["due_at", "changed_at", "searched_at"])
    for transfer in Transfer.objects.select_for_update(no_key=True).filter(
        state__in=Transfer.LIVE, matched_at__gt=ahead
    ):
        transfer.due_at -= transfer.matched_at - now
        transfer.matched_at = now
        transfer.save(update_fields=["due_at", "matched_at"])
