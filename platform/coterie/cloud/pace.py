"""How often a training reads the clock, and when a checkpoint is due within an epoch.

Every worker of a gang must save after the same step, so one reads the clock and tells the others. That costs a message,
and a step may take a millisecond or a minute: between two readings are as many steps as fit the remaining time by the
speed of the last ones, and at most twice as many as before.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

CHECKPOINT_S = 60.0
"""Seconds after which a checkpoint is written within an epoch, by default."""


class PaceCheck(NamedTuple):
    """One reading of the clock."""

    due: bool
    """Whether a checkpoint is to be written now."""
    steps: int
    """After how many more steps to read it again; at least one."""


class Pace:
    """The clock of one training."""

    def __init__(self, every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`every_s`: seconds between two checkpoints."""
        self._every_s, self._clock = every_s, clock
        self.begin()

    def begin(self) -> None:
        """An epoch begins; when the one before ended, a checkpoint was written."""
        self._saved = self._checked = self._clock()

    def check(self, steps: int) -> PaceCheck:
        """Read the clock, `steps` steps after the last reading or the begin of the epoch."""
        now = self._clock()
        step_s, self._checked = (now - self._checked) / steps, now
        due = now - self._saved >= self._every_s
        if due:
            self._saved = now
        left = (self._saved + self._every_s - now) / max(step_s, 1e-9)
        return PaceCheck(due, max(1, min(2 * steps, int(left))))
