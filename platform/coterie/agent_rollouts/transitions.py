"""The steps of a roll-out of the agent, each a compare-and-set on its row."""

from datetime import datetime

from coterie.agent_rollouts.models import AgentRollout, DeviceUpdate
from coterie.core.durable import Steps
from coterie.core.events import wake_devices
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_wire.conditions import Reason

State = AgentRollout.State
ENDS = frozenset({State.DONE, State.ROLLED_BACK, State.STOPPED})
STEPS = Steps(
    AgentRollout,
    ways={
        State.RUNNING: frozenset({State.RUNNING, State.PAUSED, *ENDS}),
        State.PAUSED: frozenset({State.RUNNING, State.ROLLED_BACK, State.STOPPED}),
    },
    app="agent_rollouts",
)


def end(rollout: AgentRollout, to: State, *, reason: Reason, now: datetime) -> bool:
    """End it, and wake the devices concerned; False if it has ended meanwhile."""
    if not STEPS.take(rollout, to, reason=reason, ended_at=now):
        return False
    concerned = rollout.updates.filter(state__in=(*DeviceUpdate.OPEN, DeviceUpdate.State.INSTALLED))
    wake_devices(str(device) for device in concerned.values_list("device", flat=True))
    announce(
        Event.AGENT_ROLLOUT_ENDED,
        {
            "rollout": str(rollout.pk),
            "version": rollout.version,
            "outcome": to.value,
            "code": reason.code,
            "sentence": reason.sentence,
            "figures": rollout.figures,
        },
        about=rollout,
        now=now,
    )
    return True
