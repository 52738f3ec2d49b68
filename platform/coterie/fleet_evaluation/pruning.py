"""What single devices measured may go; what was made of it stays with the evaluation."""

from datetime import datetime

from django.db.models import QuerySet

from coterie.core.pruning import OldRows, parts_of
from coterie.fleet_evaluation.models import Evaluation, Part


def old_parts(before: datetime) -> QuerySet[Part]:
    """Of evaluations that have ended."""
    return parts_of(Evaluation.objects.filter(ended_at__lt=before), Part, "evaluation")


OLD_ROWS = (OldRows("parts of evaluations", old_parts),)
