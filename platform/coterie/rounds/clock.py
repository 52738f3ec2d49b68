"""Keeps a clock that is set back from making a pause or a deadline of a round longer by as much."""

from datetime import datetime, timedelta

from coterie.core.lease import SKEW
from coterie.rounds.models import Round


def follow_clock(*, round_: Round, now: datetime) -> None:
    """Count a pause or a collection that began in the future from `now`, so that it lasts twice its time at most.

    The caller holds the round's row.
    """
    if round_.state == Round.State.PLANNED:
        pace = round_.federation.parsed_plan().pace
        pause = timedelta(seconds=pace.pause_after_s() if pace.holds_rounds() else 0.0)
        if round_.opens_at > now + pause + SKEW:
            round_.opens_at = now + pause
            round_.save(update_fields=["opens_at"])
    elif round_.state == Round.State.OPEN:
        assert round_.opened_at is not None, "an open round was opened"
        if round_.opened_at > now + SKEW:
            round_.opened_at = now
            round_.deadline_at = now + timedelta(seconds=round_.parsed_plan().pace.deadline_after_s())
            round_.save(update_fields=["opened_at", "deadline_at"])
