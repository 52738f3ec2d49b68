"""Why a person did something, as it stands in the reason of what they did it to."""

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
