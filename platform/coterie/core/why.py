"""Phrases that reasons share: why a person did something, and since when something waits."""

from datetime import UTC, datetime

from coterie.core.acting import current_actor
from coterie_wire.conditions import Reason

LONGEST_WHY = 200
"""Characters; before them the reason names the person and the action."""


def because(code: str, sentence: str, why: str) -> Reason:
    """The reason for an action: `sentence`, with the person's explanation where one was given."""
    return Reason(code, f"{sentence}: {why}" if why else sentence)


def cancellation(code: str, why: str) -> Reason:
    """The reason for a cancellation by the current actor."""
    return because(code, f"{current_actor().name or 'an operator'} cancelled it", why)


def are(devices: int) -> str:
    """The verb form for so many."""
    return "is" if devices == 1 else "are"


def moment(at: datetime) -> str:
    """For people, in the platform's own time."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
