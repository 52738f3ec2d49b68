"""Logs what recurs, such as who exceeds a limit: once in ten minutes, with a count, instead of a million times."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)

LOG_INTERVAL_S = 600.0
REMEMBERED = 4096
"""What is remembered; what occurred longest ago is forgotten first, so memory is bounded."""


@dataclass
class _Recurring:
    logged_at: float
    since_logged: int = 0


class LimitLog:
    """What has occurred, and when it was logged. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], _Recurring] = OrderedDict()

    def log(self, address: str, code: str) -> None:
        """Log an offence, unless the same one of the same address was logged within ten minutes."""
        before = self.due(address, code)
        if before is not None:
            logger.warning("refused %s: %s (%d more since it was last logged)", address or "a local peer", code, before)

    def due(self, whose: str, what: str) -> int | None:
        """Count an occurrence; if it is to be logged, how often it occurred since it was last logged, else None."""
        key, now = (whose, what), self._clock()
        with self._lock:
            known = self._known.get(key)
            if known is not None and now - known.logged_at < LOG_INTERVAL_S:
                known.since_logged += 1
                self._known.move_to_end(key)
                return None
            self._known[key] = _Recurring(now)
            self._known.move_to_end(key)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return 0 if known is None else known.since_logged


LIMIT_LOG = LimitLog()
"""Of this process."""
