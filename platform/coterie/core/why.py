"""Words that reasons share: why a person did something, and since when something waits."""

from datetime import UTC, datetime

from coterie.core.acting import current_actor
from coterie_wire.conditions import Reason

LONGEST_WHY = 200
"""Characters; before them the reason says who did what."""


def because(code: str, sentence: str, why: str) -> Reason:
    """What was done, and why, where they said it."""
    return Reason(code, f"{sentence}: {why}" if why else sentence)


def cancellation(code: str, why: str) -> Reason:
    """That whoever acts cancelled it."""
    return because(code, f"{current_actor().name or 'an operator'} cancelled it", why)


def are(devices: int) -> str:
    """The verb that goes with so many."""
    return "is" if devices == 1 else "are"


def moment(at: datetime) -> str:
    """For people, in the platform's own time."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
