"""The steps of a merge, and its lease: each change is a compare-and-set on its row."""

from collections.abc import Callable, Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from coterie.core.durable import Steps, reason_columns
from coterie.core.lease import extend_lease, take_lease
from coterie.core.postponing import is_due, pause_after, postponed
from coterie.merging.checkpoints import delete_checkpoints
from coterie.merging.jobs import ADVANCE, MERGE
from coterie.merging.models import Merge
from coterie.merging.reasons import MERGING, failed, tried_again
from coterie_wire.conditions import Reason

State = Merge.State
MAX_ATTEMPTS = 5
"""Attempts that may fail without any progress before a merge is abandoned."""
WhyItWaits = Callable[[float], Reason]
"""Returns the reason to wait, given the pause in seconds."""

STEPS = Steps(
    Merge,
    ways={
        State.RUNNING: frozenset({State.PUBLISHED, State.ABANDONED}),
        State.PUBLISHED: frozenset(),
        State.ABANDONED: frozenset({State.RUNNING}),
    },
    app="rounds",
)


def take(merge_id: int, *, lease: UUID, now: datetime) -> Merge | None:
    """Take the merge under a lease; None if another worker holds it, it is postponed, or it has ended."""
    if not take_lease(_running(merge_id).filter(is_due(now)), lease=lease, now=now):
        return None
    related = ("secure_sum", "federation__held_out", "federation__cloud_data", "federation__pair", "base_version__pair")
    return Merge.objects.select_related(*related).get(pk=merge_id)


def hold(merge_id: int, *, lease: UUID, now: datetime) -> bool:
    """Extend the lease; False if the merge has ended or another worker has taken it."""
    return extend_lease(_running(merge_id), lease=lease, now=now)


def record_progress(merge_id: int, reason: Reason, *, lease: UUID, now: datetime) -> None:
    """Record the progress of the merge. Its steps are durable, so failed attempts are counted from zero again."""
    held = _running(merge_id).filter(lease_token=lease)
    held.update(reason_code=reason.code, reason_sentence=reason.sentence, reason_at=now, attempts=1)


def postpone_after_failure(merge: Merge, problem: str, *, lease: UUID, now: datetime) -> None:
    """Record why an attempt failed, and delay the next: twice as long each time."""
    merge.refresh_from_db(fields=["attempts"])
    pause = pause_after(max(0, merge.attempts - 1))
    is_last = merge.attempts >= MAX_ATTEMPTS
    reason = (
        failed(problem)
        if is_last
        else tried_again(problem, attempt=merge.attempts, attempts=MAX_ATTEMPTS, pause_s=pause.total_seconds())
    )
    _running(merge.pk).filter(lease_token=lease).update(
        **reason_columns(reason), reason_at=now, lease_until=None, postponed_until=None if is_last else now + pause
    )
    ADVANCE.send(federation=str(merge.federation_id))


def postpone_without_blame(merge: Merge, why: WhyItWaits, *, lease: UUID, now: datetime) -> None:
    """Delay the merge until the shortage may be over. Attempts are reset: no worker has failed."""
    pause = pause_after(merge.postponements)
    _running(merge.pk).filter(lease_token=lease).update(
        **reason_columns(why(pause.total_seconds())),
        **postponed(pause, now),
        reason_at=now,
        lease_until=None,
        attempts=0,
    )
    ADVANCE.send(federation=str(merge.federation_id))


def begin_again(merge: Merge, *, now: datetime) -> bool:
    """Restart an abandoned merge with its attempts reset; False if it is not abandoned."""
    begun = STEPS.take(
        merge,
        State.RUNNING,
        reason=MERGING,
        reason_at=now,
        finished_at=None,
        lease_until=None,
        attempts=0,
        postponed_until=None,
        postponements=0,
    )
    if begun:
        MERGE.send(merge=merge.pk)
    return begun


def end(
    merge: Merge, to: State, *, reason: Reason | None, metrics: Mapping[str, float], now: datetime, **changes: object
) -> bool:
    """End `merge` and notify the round that collected its updates; False if it has ended."""
    ended = STEPS.take(
        merge, to, reason=reason, reason_at=now, finished_at=now, lease_until=None, metrics=dict(metrics), **changes
    )
    if ended:
        delete_checkpoints(merge.pk)
        ADVANCE.send(federation=str(merge.federation_id))
    return ended


def _running(merge_id: int) -> QuerySet[Merge]:
    return Merge.objects.filter(pk=merge_id, state=State.RUNNING)
