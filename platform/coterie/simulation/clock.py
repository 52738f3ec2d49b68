"""Simulated time: deeds in the order of their moments, those of one moment in the order in which they were planned."""

import heapq
from collections.abc import Callable

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S

Deed = Callable[[], None]


def _nothing() -> None:
    """Nobody watches."""


class Clock:
    """Nothing waits: time jumps from one deed to the next."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._planned: list[tuple[float, int, Deed]] = []
        self._count = 0

    def at(self, time_s: float, deed: Deed) -> None:
        """Plan `deed` for `time_s`, or for now where that is past."""
        heapq.heappush(self._planned, (max(time_s, self.now_s), self._count, deed))
        self._count += 1

    def run(self, *, until_s: float, after_each: Deed = _nothing) -> None:
        """Do everything planned for before `until_s`, and what those deeds plan for before it."""
        while self._planned and self._planned[0][0] < until_s:
            self.now_s, _, deed = heapq.heappop(self._planned)
            deed()
            after_each()
        self.now_s = until_s
