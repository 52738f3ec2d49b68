"""Removes files that are not needed: updates of rounds that ended a while ago, and uploads that were not finished."""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from coterie.core.rows import delete_in_parts
from coterie.merging.files import updates_of
from coterie.rounds.files import PARTIALS, UPLOADS
from coterie.rounds.models import Assignment, Fold, Round, RoundEvent, Upload
from coterie.secure_sums.selectors import sum_of
from coterie.secure_sums.services import discard_contents

RETENTION = timedelta(days=7)
"""How long after a round's end its updates are stored, so that they can be merged again; a plan may promise longer."""
EVENT_RETENTION = timedelta(days=30)
"""How long after a round's end it can be replayed."""
ROUNDS_AT_ONCE = 1_000
"""With a run every ten minutes, this keeps up with more than one round a second."""
EVENTS_AT_ONCE = 5_000


def tidy(*, now: datetime) -> None:
    """Remove what is older than the retention; an interrupted run is completed by the next."""
    # Of an asynchronous round, later ones may have taken updates.
    waits = Q(taken_by=None) | Q(taken_by__finished_at=None) | Q(taken_by__finished_at__gte=now - RETENTION)
    needed = Assignment.objects.filter(waits, round=OuterRef("pk"), state=Assignment.State.DELIVERED)
    ended = Round.objects.filter(~Exists(needed), finished_at__lt=now - RETENTION, tidied_at=None)
    for round_ in ended.exclude(_is_promised(now))[:ROUNDS_AT_ONCE]:
        updates_of(round_.pk).clear()
        sum_ = sum_of(round_.pk)
        if sum_ is not None:
            discard_contents(sum_)
        Round.objects.filter(pk=round_.pk).update(tidied_at=now)
    old = RoundEvent.objects.filter(round__finished_at__lt=now - EVENT_RETENTION).order_by()
    delete_in_parts(old, at_once=EVENTS_AT_ONCE)
    _delete_lost_uploads()
    _delete_lost_partials()


def _is_promised(now: datetime) -> Q:
    """The filter for published rounds whose plan promises to repeat their merges for longer than the retention."""
    published = Round.objects.filter(state=Round.State.PUBLISHED, tidied_at=None, plan__forgetting__days__gt=0)
    found = Q(pk__in=())
    for days in published.order_by().values_list("plan__forgetting__days", flat=True).distinct():
        found |= Q(
            state=Round.State.PUBLISHED, plan__forgetting__days=days, finished_at__gte=now - timedelta(days=days)
        )
    return found


def _delete_lost_uploads() -> None:
    """Delete uploads that were offered or sent while their round closed, their assignment ended, or a worker died."""
    # Files first: a file that arrives meanwhile belongs to an upload row that the query still returns.
    sent = UPLOADS.keys()
    carried = Q(assignment__round__carries_on=True, assignment__state__in=Assignment.UNENDED)
    Upload.objects.exclude(Q(assignment__round__state=Round.State.OPEN) | carried).delete()
    for assignment_id in sent - set(Upload.objects.values_list("assignment_id", flat=True)):
        UPLOADS.discard(assignment_id)


def _delete_lost_partials() -> None:
    """Delete what was sent of sums that are no longer requested."""
    sent = PARTIALS.keys()
    for fold in sent - set(Fold.objects.filter(pk__in=sent, state=Fold.State.ASKED).values_list("pk", flat=True)):
        PARTIALS.discard(fold)
