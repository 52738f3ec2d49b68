"""Periodic work that finds nothing to do rests until a row changes, or until time alone may give it something to do.

The work itself returns for how many seconds. The scheduler of embedded mode skips it meanwhile, as the one process of
that mode sees each change; where several processes write, changes are not counted, and nothing rests.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LONGEST_S = 60.0
"""The longest rest. A change by another process, such as a command beside the platform, is found after it."""

_unremarkable: ContextVar[bool] = ContextVar("unremarkable", default=False)


class Changes:
    """Counts the changes of rows that this process has committed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @property
    def count(self) -> int:
        """The number so far."""
        return self._count

    def note(self) -> None:
        """Count one more committed change."""
        with self._lock:
            self._count += 1


class Rests:
    """The periodic work that rests, and for how long."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._until: dict[str, tuple[int, float]] = {}

    def begin(self, name: str, seconds: float, *, seen: int) -> None:
        """Let work rest that started when `seen` changes had been counted."""
        self._until[name] = (seen, time.monotonic() + min(seconds, LONGEST_S))

    def is_on(self, name: str) -> bool:
        """Whether work still rests."""
        seen, until = self._until.get(name, (0, float("-inf")))
        return seen == self._changes.count and time.monotonic() < until


CHANGES = Changes()
RESTS = Rests(CHANGES)


@contextmanager
def unremarkable() -> Iterator[None]:
    """Changes of rows in the block do not end rests: they only confirm what is known, such as a device's presence."""
    token = _unremarkable.set(True)
    try:
        yield
    finally:
        _unremarkable.reset(token)


def is_unremarkable() -> bool:
    """Whether the calling thread is in such a block."""
    return _unremarkable.get()
