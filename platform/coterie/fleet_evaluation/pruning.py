"""Old measurements of single devices are deleted; their summary stays with the evaluation."""

from datetime import datetime

from django.db.models import QuerySet

from coterie.core.pruning import OldRows, parts_of
from coterie.fleet_evaluation.models import Evaluation, Part


def old_parts(before: datetime) -> QuerySet[Part]:
    """Parts of evaluations that ended before `before`."""
    return parts_of(Evaluation.objects.filter(ended_at__lt=before), Part, "evaluation")


OLD_ROWS = (OldRows("parts of evaluations", old_parts),)
