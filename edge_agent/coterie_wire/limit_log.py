"""Logs who exceeds a limit: once in ten minutes, with a count, instead of a million times."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)

EVERY_S = 600.0
REMEMBERED = 4096
"""Offenders remembered; the one whose latest offence is oldest is forgotten first, so memory is bounded."""


@dataclass
class _Seen:
    told_at: float
    since_logged: int = 0


class LimitLog:
    """What was refused, by address and code. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], _Seen] = OrderedDict()

    def tell(self, address: str, code: str) -> None:
        """Log the offence, unless the same one of the same address was within ten minutes."""
        key, now = (address, code), self._clock()
        with self._lock:
            seen = self._seen.get(key)
            if seen is not None and now - seen.told_at < EVERY_S:
                seen.since_logged += 1
                self._seen.move_to_end(key)
                return
            before = 0 if seen is None else seen.since_logged
            self._seen[key] = _Seen(now)
            self._seen.move_to_end(key)
            if len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        logger.warning("refused %s: %s (%d more since it was last told)", address or "a local peer", code, before)


LIMIT_LOG = LimitLog()
"""Of this process."""
