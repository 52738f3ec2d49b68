"""How often a training looks at the clock, and when a checkpoint is due within an epoch.

Every worker of a gang must save after the same step, so one looks and tells the others. That costs a message, and a
step may take a millisecond or a minute: between two looks are as many steps as the last ones say that there is time
for, and at most twice as many as before.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

CHECKPOINT_S = 60.0
"""Seconds after which an epoch that goes on is saved in between, where nothing else is said."""


class Look(NamedTuple):
    """What a look at the clock says."""

    due: bool
    """Whether a checkpoint is to be written now."""
    steps: int
    """After how many more to look again; at least one."""


class Pace:
    """The clock of one training."""

    def __init__(self, every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`every_s`: seconds between two checkpoints."""
        self._every_s, self._clock = every_s, clock
        self.begin()

    def begin(self) -> None:
        """An epoch begins; when the one before ended, a checkpoint was written."""
        self._saved = self._looked = self._clock()

    def look(self, steps: int) -> Look:
        """After so many steps since the last look, or since the epoch began."""
        now = self._clock()
        step_s, self._looked = (now - self._looked) / steps, now
        due = now - self._saved >= self._every_s
        if due:
            self._saved = now
        left = (self._saved + self._every_s - now) / max(step_s, 1e-9)
        return Look(due, max(1, min(2 * steps, int(left))))
