"""Removes portions whose transfer has ended, and old counts of reports."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from coterie.storage.interface import store_of
from coterie.transfer.files import ARRIVING, portion_of
from coterie.transfer.models import ReportedDay, Transfer

REPORTS_KEPT = timedelta(days=90)
"""How long the daily counts of a device's profiles are stored."""


def tidy(*, now: datetime) -> None:
    """Remove every portion that is neither arriving nor waiting to be fetched, and old counts of reports."""
    ReportedDay.objects.filter(day__lt=(now - REPORTS_KEPT).astimezone(UTC).date()).delete()
    # Files first: a file that arrives meanwhile belongs to a transfer that the query still returns.
    arriving, stored = ARRIVING.keys(), _stored()
    live = set(Transfer.objects.filter(state__in=Transfer.LIVE).values_list("pk", flat=True))
    for transfer_id in arriving - live:
        ARRIVING.discard(transfer_id)
    for transfer_id in stored - live:
        portion_of(transfer_id).clear()


def _stored() -> set[UUID]:
    return {UUID(folder) for folder in store_of("portions").folders()}
