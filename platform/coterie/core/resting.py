"""Periodic work that finds nothing to do rests until a row is changed, or time alone may give it something to do.

It says itself for how long: a sweep returns seconds. The clock of embedded mode leaves it out meanwhile, as the one
process of that mode sees each change; where several processes write, changes are not counted, and nothing rests.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LONGEST_S = 60.0
"""A rest. What another process has changed, such as a command beside the platform, is found when it is over."""

_unremarkable: ContextVar[bool] = ContextVar("unremarkable", default=False)


class Changes:
    """Counts the changes of rows that this process has committed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @property
    def count(self) -> int:
        """So far."""
        return self._count

    def note(self) -> None:
        """One more has been committed."""
        with self._lock:
            self._count += 1


class Rests:
    """Which periodic work has said that it rests."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._until: dict[str, tuple[int, float]] = {}

    def begin(self, name: str, seconds: float, *, seen: int) -> None:
        """Work rests that began when so many changes had been `seen`."""
        self._until[name] = (seen, time.monotonic() + min(seconds, LONGEST_S))

    def is_on(self, name: str) -> bool:
        """Whether work rests still."""
        seen, until = self._until.get(name, (0, float("-inf")))
        return seen == self._changes.count and time.monotonic() < until


CHANGES = Changes()
RESTS = Rests(CHANGES)


@contextmanager
def unremarkable() -> Iterator[None]:
    """Changes of rows in the block end no rest: they tell anew what is known, such as that somebody is still there."""
    token = _unremarkable.set(True)
    try:
        yield
    finally:
        _unremarkable.reset(token)


def is_unremarkable() -> bool:
    """Whether the calling thread is in such a block."""
    return _unremarkable.get()
