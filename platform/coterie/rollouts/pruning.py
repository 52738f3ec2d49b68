"""Old reports of single devices on candidates are deleted; their summary stays with the roll-out."""

from datetime import datetime

from django.db.models import QuerySet

from coterie.core.pruning import OldRows, parts_of
from coterie.rollouts.models import Rollout, Trial


def old_trials(before: datetime) -> QuerySet[Trial]:
    """Trials of roll-outs that ended before `before`."""
    return parts_of(Rollout.objects.filter(ended_at__lt=before), Trial, "rollout")


OLD_ROWS = (OldRows("trials of new versions by devices", old_trials),)
