"""When the clock is set back, a round's pause or deadline does not grow by as much."""

from datetime import datetime, timedelta

from coterie.core.lease import SKEW
from coterie.rounds.models import Round


def is_ahead(round_: Round, *, now: datetime) -> bool:
    """Whether its pause or its collection began in the future."""
    if round_.state == Round.State.PLANNED:
        return round_.opens_at > now + _pause(round_) + SKEW
    return round_.state == Round.State.OPEN and round_.opened_at is not None and round_.opened_at > now + SKEW


def follow_clock(*, round_: Round, now: datetime) -> None:
    """Count a pause or a collection that began in the future from `now`, so that it lasts twice its time at most.

    The caller holds the round's row.
    """
    if not is_ahead(round_, now=now):
        return
    if round_.state == Round.State.PLANNED:
        round_.opens_at = now + _pause(round_)
        round_.save(update_fields=["opens_at"])
    else:
        round_.opened_at = now
        round_.deadline_at = now + timedelta(seconds=round_.parsed_plan().pace.deadline_after_s())
        round_.save(update_fields=["opened_at", "deadline_at"])


def _pause(round_: Round) -> timedelta:
    pace = round_.federation.parsed_plan().pace
    return timedelta(seconds=pace.pause_after_s() if pace.holds_rounds() else 0.0)
