"""Reasons to stop training between two steps."""

from enum import Enum


class Halt(Enum):
    """Why training stops between two steps."""

    PAUSE = "pause"
    """Conditions are lost, or the agent ends: keep everything, resume later."""
    ENOUGH = "enough"
    """The round is about to close: the update has the steps done so far."""
