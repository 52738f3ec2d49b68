"""The steps of a roll-out, each a compare-and-set on its row: of all who try, one succeeds."""

from collections.abc import Mapping
from datetime import datetime

from coterie.core.events import tell_consoles, wake_device
from coterie.rollouts.models import Rollout
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_wire.conditions import Reason

State = Rollout.State

STEPS: Mapping[State, frozenset[State]] = {
    State.PLANNED: frozenset({State.MEASURING, State.PROMOTED, State.ROLLED_BACK, State.CANCELLED}),
    State.MEASURING: frozenset({State.PROMOTED, State.ROLLED_BACK, State.CANCELLED}),
}


def step(rollout: Rollout, to: State, *, reason: Reason, **changes: object) -> bool:
    """Take `rollout` from the state it was read in to `to`; False if another worker has moved it meanwhile."""
    before = State(rollout.state)
    assert to in STEPS[before], f"a roll-out does not go from {before} to {to}"
    values = {"state": to, "reason_code": reason.code, "reason_sentence": reason.sentence, **changes}
    if not Rollout.objects.filter(pk=rollout.pk, state=before).update(**values):
        rollout.refresh_from_db()
        return False
    for name, value in values.items():
        setattr(rollout, name, value)
    tell_consoles("rollouts")
    for device in rollout.trials.values_list("device", flat=True):
        wake_device(str(device))
    return True


def end(rollout: Rollout, to: State, *, reason: Reason, now: datetime) -> bool:
    """Take `rollout` to an end and tell whoever wants to know; False if it has ended meanwhile."""
    if not step(rollout, to, reason=reason, ended_at=now):
        return False
    announce(
        Event.ROLLOUT_ENDED,
        {
            "rollout": str(rollout.pk),
            "federation": rollout.federation.slug,
            "version": str(rollout.version_id),
            "version_number": rollout.version.number,
            "outcome": to.value,
            "code": reason.code,
            "sentence": reason.sentence,
            "figures": rollout.figures,
        },
        now=now,
    )
    return True


def explain(rollout: Rollout, reason: Reason) -> None:
    """Say why the roll-out waits; writes only what has changed."""
    if rollout.reason() == reason:
        return
    columns = {"reason_code": reason.code, "reason_sentence": reason.sentence}
    Rollout.objects.filter(pk=rollout.pk, state=rollout.state).update(**columns)
    tell_consoles("rollouts")
