"""The steps of a round and of an assignment, each a compare-and-set on its row: of all who try, one succeeds."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from coterie.core.events import tell_consoles, wake_device
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie_wire.conditions import Reason

State = Round.State

STEPS: Mapping[State, frozenset[State]] = {
    State.PLANNED: frozenset({State.OPEN, State.ABANDONED}),
    State.OPEN: frozenset({State.CLOSING}),
    State.CLOSING: frozenset({State.MERGING, State.ABANDONED}),
    State.MERGING: frozenset({State.PUBLISHED, State.ABANDONED}),
}


def step(round_: Round, to: State, *, reason: Reason | None, now: datetime, **changes: object) -> bool:
    """Take `round_` from the state it was read in to `to`; False if another worker has moved it meanwhile."""
    before = State(round_.state)
    assert to in STEPS[before], f"a round does not go from {before} to {to}"
    values = {"state": to, **_reason_columns(reason), "reason_at": now, **changes}
    if not Round.objects.filter(pk=round_.pk, state=before).update(**values):
        round_.refresh_from_db()
        return False
    for name, value in values.items():
        setattr(round_, name, value)
    tell(round_.pk, RoundEvent.Kind(to.value), reason=reason, now=now)
    return True


def explain(round_: Round, reason: Reason, *, now: datetime) -> None:
    """Say why the round waits; writes only what has changed."""
    if round_.reason() == reason:
        return
    changed = Round.objects.filter(pk=round_.pk, state=round_.state).update(**_reason_columns(reason), reason_at=now)
    tell_consoles("rounds")
    if changed and round_.reason_code != reason.code:
        tell(round_.pk, RoundEvent.Kind.WAITS, reason=reason, now=now)


def end_assignment(assignment: Assignment, to: Assignment.State, *, reason: Reason, now: datetime) -> bool:
    """End a live or dropped assignment without an update and wake its device; False if it has ended already."""
    ended = Assignment.objects.filter(pk=assignment.pk, state__in=(*Assignment.LIVE, Assignment.State.DROPPED)).update(
        state=to, **_reason_columns(reason), changed_at=now
    )
    if ended:
        wake_device(str(assignment.device_id))
        kind = RoundEvent.Kind(to.value)
        tell(assignment.round_id, kind, reason=reason, now=now, device_id=assignment.device_id)
    return ended == 1


def tell(
    round_id: int,
    kind: RoundEvent.Kind,
    *,
    now: datetime,
    reason: Reason | None = None,
    device_id: UUID | None = None,
) -> None:
    """Keep what has happened, for the round's timeline."""
    tell_consoles("rounds")
    RoundEvent.objects.create(round_id=round_id, at=now, kind=kind, device_id=device_id, **_reason_columns(reason))


def _reason_columns(reason: Reason | None) -> dict[str, str]:
    if reason is None:
        return {"reason_code": "", "reason_sentence": ""}
    return {"reason_code": reason.code, "reason_sentence": reason.sentence}
