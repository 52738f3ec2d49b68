"""Simulated time: events in the order of their times; events at the same time in the order of scheduling."""

import heapq
from collections.abc import Callable

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S

Event = Callable[[], None]


def _nothing() -> None:
    """The default: progress is not reported."""


class Clock:
    """A discrete-event clock: time jumps from one event to the next."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._planned: list[tuple[float, int, Event]] = []
        self._count = 0

    def at(self, time_s: float, event: Event) -> None:
        """Schedule `event` for `time_s`, or for now if that is past."""
        heapq.heappush(self._planned, (max(time_s, self.now_s), self._count, event))
        self._count += 1

    def run(self, *, until_s: float, after_each: Event = _nothing) -> None:
        """Run all events before `until_s`, including those that they schedule."""
        while self._planned and self._planned[0][0] < until_s:
            self.now_s, _, event = heapq.heappop(self._planned)
            event()
            after_each()
        self.now_s = until_s


def in_words(seconds: float) -> str:
    """In the longest unit that gives at least 1: 7 days, 1.5 hours, 20 minutes."""
    for unit, length_s in (("day", DAY_S), ("hour", HOUR_S), ("minute", 60.0)):
        if seconds >= length_s:
            count = seconds / length_s
            return f"{count:.3g} {unit}{'' if count == 1 else 's'}"
    return f"{seconds:.3g} seconds"
