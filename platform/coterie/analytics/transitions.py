"""The steps of a question, each a compare-and-set on its row: of all who try, one succeeds."""

from datetime import datetime

from coterie.analytics.models import Question
from coterie.core.durable import Steps
from coterie_wire.conditions import Reason

State = Question.State

STEPS = Steps(
    Question,
    ways={
        State.OPEN: frozenset({State.SUMMING, State.FAILED, State.CANCELLED}),
        State.SUMMING: frozenset({State.ANSWERED, State.FAILED, State.CANCELLED}),
    },
    app="analytics",
)


def end(question: Question, to: State, *, reason: Reason, now: datetime, **changes: object) -> bool:
    """End `question`; False if another worker has moved it meanwhile."""
    return STEPS.take(question, to, reason=reason, ended_at=now, **changes)
