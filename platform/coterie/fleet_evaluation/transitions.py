"""The steps of an evaluation, each a compare-and-set on its row: of all workers that try, one succeeds."""

from datetime import datetime

from coterie.core.durable import Steps
from coterie.core.events import wake_devices
from coterie.fleet_evaluation.models import Evaluation
from coterie_wire.conditions import Reason

State = Evaluation.State
ENDS = frozenset({State.FINISHED, State.FAILED, State.CANCELLED})

STEPS = Steps(
    Evaluation,
    ways={State.PLANNED: frozenset({State.MEASURING, State.FAILED, State.CANCELLED}), State.MEASURING: ENDS},
    app="fleet_evaluation",
)


def end(evaluation: Evaluation, to: State, *, reason: Reason, now: datetime) -> bool:
    """End it, and have the devices that still measure it stop; False if it has ended meanwhile."""
    if not STEPS.take(evaluation, to, reason=reason, ended_at=now):
        return False
    open_parts = evaluation.parts.filter(reported_at=None)
    wake_devices(str(device) for device in open_parts.values_list("device", flat=True))
    return True
