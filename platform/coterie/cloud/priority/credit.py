"""How many pieces are in flight at a time, tuned while training runs.

ByteScheduler searches with a Gaussian process over pieces' sizes and credits. Here it is a local search over a short
ladder of credits only: pieces keep their size, because the sum of three workers' numbers depends on how they are cut,
and a training that resumes from a checkpoint must have the same bits.
"""

from statistics import median

LADDER = (1, 2, 4, 8, 16, 32)
BEGIN = 2
"""The place on the ladder where the search starts."""
TRIAL_STEPS = 10
SKIPPED_STEPS = 2
"""Steps ignored at the start of each trial: the former credit still affects them."""
BETTER = 0.98
"""A credit is better only if it takes less than this share of the time."""
REST_STEPS = 1000
"""Steps after which neighbours are tried again: links change."""


class Credit:
    """Each worker gets the same times, so that all change at the same step."""

    def __init__(self) -> None:
        self._best, self._tried = BEGIN, BEGIN
        self._best_s: float | None = None
        self._open: list[int] = []
        """Places of the ladder to try."""
        self._seconds: list[float] = []
        self._rest = 0

    @property
    def pieces(self) -> int:
        """How many pieces may be in flight in the next step."""
        return LADDER[self._tried]

    def step(self, seconds: float) -> None:
        """A step took `seconds`, the mean of all workers."""
        if self._rest:
            self._rest -= 1
            return
        self._seconds.append(seconds)
        if len(self._seconds) == TRIAL_STEPS:
            found = median(self._seconds[SKIPPED_STEPS:])
            self._seconds.clear()
            self._conclude(found)

    def _conclude(self, found: float) -> None:
        if self._best_s is None:
            self._best_s = found
            self._open = _neighbours(self._best)
        elif found < BETTER * self._best_s:
            step = self._tried - self._best
            self._best, self._best_s = self._tried, found
            self._open = [place for place in _neighbours(self._best) if place - self._best == step]
        if self._open:
            self._tried = self._open.pop(0)
        else:
            # The next trial is of the best again: its last measurement is out of date by then.
            self._tried, self._best_s, self._rest = self._best, None, REST_STEPS


def _neighbours(place: int) -> list[int]:
    return [near for near in (place + 1, place - 1) if 0 <= near < len(LADDER)]
