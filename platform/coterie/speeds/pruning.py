"""Old days are deleted: nothing depends on them."""

from datetime import datetime

from django.db.models import QuerySet

from coterie.core.pruning import OldRows
from coterie.speeds.models import SpeedDay


def old_days(before: datetime) -> QuerySet[SpeedDay]:
    """The oldest first."""
    return SpeedDay.objects.filter(day__lt=before.date()).order_by("day")


OLD_ROWS = (OldRows("days of speeds", old_days),)
