"""The steps of a round and of an assignment, each a compare-and-set on its row: of all workers, only one succeeds."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from coterie.core.durable import Steps, reason_columns
from coterie.core.events import notify_consoles, wake_device, wake_devices
from coterie.core.metrics import ROUND_STEPS
from coterie.core.rows import insert_all
from coterie.core.tracing import span
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_wire.conditions import Reason

State = Round.State
ANNOUNCED = {State.OPEN: Event.ROUND_OPENED, State.ABANDONED: Event.ROUND_ABANDONED}
"""Webhook events by state; a published round is announced with its version in `coterie.rounds.ending`."""

STEPS = Steps(
    Round,
    ways={
        State.PLANNED: frozenset({State.OPEN, State.ABANDONED}),
        State.OPEN: frozenset({State.CLOSING}),
        State.CLOSING: frozenset({State.MERGING, State.ABANDONED}),
        State.MERGING: frozenset({State.PUBLISHED, State.ABANDONED}),
        State.ABANDONED: frozenset({State.MERGING}),
    },
    app="rounds",
)
ENDS = frozenset({Assignment.State.RELEASED, Assignment.State.REJECTED})
"""States in which an assignment ends without an update."""
PARTS = Steps(
    Assignment,
    ways={
        Assignment.State.OFFERED: frozenset({*ENDS, Assignment.State.DROPPED}),
        Assignment.State.ACCEPTED: frozenset({*ENDS, Assignment.State.DROPPED}),
        Assignment.State.DROPPED: ENDS,
        Assignment.State.JOINED: ENDS,
    },
    app="rounds",
)


def step(round_: Round, to: State, *, reason: Reason | None, now: datetime, **changes: object) -> bool:
    """Take `round_` from the state it was read in to `to`; False if another worker has moved it meanwhile."""
    federation = str(round_.federation_id)
    with span(f"round to {to.value}", federation=federation, round=round_.number) as traced:
        if not STEPS.take(round_, to, reason=reason, reason_at=now, **changes):
            return False
        if reason is not None:
            traced.set_attribute("reason", reason.code)
        ROUND_STEPS.labels(to.value).inc()
        record_event(round_.pk, RoundEvent.Kind(to.value), reason=reason, now=now)
        if to in ANNOUNCED:
            facts = {"federation": round_.federation.slug, "round": round_.number}
            why = {} if reason is None else {"code": reason.code, "sentence": reason.sentence}
            announce(ANNOUNCED[to], {**facts, **why}, about=round_, now=now)
        return True


def explain(round_: Round, reason: Reason, *, now: datetime) -> None:
    """Record why the round waits; writes only if the reason has changed."""
    code = round_.reason_code
    if STEPS.explain(round_, reason, reason_at=now) and code != reason.code:
        record_event(round_.pk, RoundEvent.Kind.WAITS, reason=reason, now=now)


def end_assignment(assignment: Assignment, to: Assignment.State, *, reason: Reason, now: datetime) -> bool:
    """End a live or dropped assignment without an update and wake its device; False if it has ended already."""
    if not PARTS.take_from_any(assignment, to, reason=reason, changed_at=now):
        return False
    wake_device(str(assignment.device_id))
    record_event(assignment.round_id, RoundEvent.Kind(to.value), reason=reason, now=now, device_id=assignment.device_id)
    return True


@transaction.atomic
def end_assignments(assignments: QuerySet[Assignment], to: Assignment.State, *, reason: Reason, now: datetime) -> None:
    """End all of `assignments` that have not ended, as `end_assignment` does."""
    ended = PARTS.take_all(assignments, to, reason=reason, changed_at=now)
    wake_devices([str(part.device_id) for part in ended])
    columns = reason_columns(reason)
    record_events(
        [
            RoundEvent(round_id=part.round_id, at=now, kind=to.value, device_id=part.device_id, **columns)
            for part in ended
        ]
    )


def record_event(
    round_id: int,
    kind: RoundEvent.Kind,
    *,
    now: datetime,
    reason: Reason | None = None,
    device_id: UUID | None = None,
) -> None:
    """Store an event of the round's timeline."""
    notify_consoles("rounds")
    RoundEvent.objects.create(round_id=round_id, at=now, kind=kind, device_id=device_id, **reason_columns(reason))


def record_events(events: Sequence[RoundEvent]) -> None:
    """Store events of many devices at once."""
    if events:
        insert_all(events)
        notify_consoles("rounds")
