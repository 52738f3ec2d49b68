"""Limits wrong secrets per address."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

WRONG_ALLOWED = 5
WINDOW_S = 60.0
REMEMBERED = 1024
"""Addresses remembered; the oldest is dropped first, so memory is bounded."""


@dataclass
class _Guessed:
    since: float
    wrong: int = 0


@dataclass
class Guesses:
    """Wrong guesses by address; safe to use from several threads."""

    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _found: OrderedDict[str, _Guessed] = field(default_factory=OrderedDict)

    def may_try(self, address: str) -> bool:
        """Count a try, which `forgive` clears; False: there were too many within a minute."""
        now = self.clock()
        with self._lock:
            guessed = self._found.get(address)
            if guessed is None or now - guessed.since >= WINDOW_S:
                self._found.pop(address, None)
                guessed = self._found[address] = _Guessed(now)
                if len(self._found) > REMEMBERED:
                    self._found.popitem(last=False)
            guessed.wrong += 1
            return guessed.wrong <= WRONG_ALLOWED

    def forgive(self, address: str) -> None:
        """Clear the tries of an address that presented the right secret."""
        with self._lock:
            self._found.pop(address, None)
