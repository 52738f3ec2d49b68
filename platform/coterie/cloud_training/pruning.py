"""Logs of jobs may be deleted, and jobs without a result that still exists; those that made a version document its
origin.
"""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from coterie.cloud_training.models import JobLine, TrainingJob
from coterie.core.pruning import OldRows, parts_of

Kind, State = TrainingJob.Kind, TrainingJob.State


def old_lines(before: datetime) -> QuerySet[JobLine]:
    """The logs of jobs that have ended."""
    return parts_of(_ended(before), JobLine, "job")


def old_jobs(before: datetime) -> QuerySet[TrainingJob]:
    """Quantisations, simulations, and trainings that failed or were cancelled.

    Not the latest of a pair: its failure still has to be resolved.
    """
    later = TrainingJob.objects.filter(pair=OuterRef("pair"), created_at__gt=OuterRef("created_at"))
    made_nothing = Q(kind__in=(Kind.BOOTSTRAP, Kind.DISTILL), state__in=(State.FAILED, State.CANCELLED))
    is_replaced = Exists(later.exclude(kind=Kind.SIMULATION))
    may_go = Q(kind=Kind.SIMULATION) | Q(is_replaced, made_nothing | Q(kind=Kind.QUANTISE))
    return _ended(before).filter(may_go).order_by("finished_at")


def _ended(before: datetime) -> QuerySet[TrainingJob]:
    return TrainingJob.objects.exclude(state__in=TrainingJob.ACTIVE).filter(finished_at__lt=before)


OLD_ROWS = (
    OldRows("lines of training jobs' logs", old_lines),
    OldRows("training jobs that made no version", old_jobs, at_once=20),  # with up to 1,000 lines each
)
