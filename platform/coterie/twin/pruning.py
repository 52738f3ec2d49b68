"""Pruning of old forecasts; those used for a federation's calibration stay, however old."""

from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery

from coterie.core.pruning import OldRows
from coterie.twin.calibration import LATEST
from coterie.twin.models import Forecast


def old_forecasts(before: datetime) -> QuerySet[Forecast]:
    """Compared forecasts, the oldest first, without the latest of each federation."""
    compared = Forecast.objects.filter(compared_at__isnull=False)
    latest = compared.filter(round__federation=OuterRef("round__federation")).order_by("-round__number")
    first_kept = Subquery(latest.values("round__number")[LATEST - 1 : LATEST])
    ended = compared.filter(compared_at__lt=before, round__finished_at__lt=before)
    return ended.filter(round__number__lt=first_kept).order_by("compared_at")


OLD_ROWS = (OldRows("forecasts", old_forecasts),)
