"""The steps of an alliance, each a compare-and-set on its row: of all workers that try, one succeeds."""

from datetime import datetime

from coterie.alliances.models import Alliance, Letter
from coterie.core.durable import Steps
from coterie_wire.conditions import Reason

State = Alliance.State
ENDS = frozenset({State.FINISHED, State.FAILED, State.CANCELLED})

STEPS = Steps(
    Alliance,
    ways={State.WAITING: frozenset({State.WORKING, State.FAILED, State.CANCELLED}), State.WORKING: ENDS},
    app="alliances",
)


def end(alliance: Alliance, to: State, *, reason: Reason, now: datetime) -> bool:
    """End it, and delete its letters; False if it has ended meanwhile."""
    if not STEPS.take(alliance, to, reason=reason, ended_at=now):
        return False
    Letter.objects.filter(party__alliance=alliance).delete()
    return True
