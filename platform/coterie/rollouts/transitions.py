"""The steps of a roll-out, each a compare-and-set on its row: of all workers that try, one succeeds."""

from datetime import datetime

from coterie.core.durable import Steps
from coterie.core.events import wake_device
from coterie.rollouts.models import Rollout
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_wire.conditions import Reason

State = Rollout.State

STEPS = Steps(
    Rollout,
    ways={
        State.PLANNED: frozenset({State.MEASURING, State.PROMOTED, State.ROLLED_BACK, State.CANCELLED}),
        State.MEASURING: frozenset({State.MEASURING, State.PROMOTED, State.ROLLED_BACK, State.CANCELLED}),
    },
    app="rollouts",
)


def step(rollout: Rollout, to: State, *, reason: Reason, **changes: object) -> bool:
    """Take `rollout` from the state it was read in to `to`; False if another worker has moved it meanwhile."""
    if not STEPS.take(rollout, to, reason=reason, **changes):
        return False
    for device in rollout.trials.values_list("device", flat=True):
        wake_device(str(device))
    return True


def end(rollout: Rollout, to: State, *, reason: Reason, now: datetime) -> bool:
    """End `rollout` and deliver the event; False if it has ended meanwhile."""
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
        about=rollout,
        now=now,
    )
    return True
