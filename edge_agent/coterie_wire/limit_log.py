"""Logs who exceeds a limit: once in ten minutes, with a count, instead of a million times."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)

LOG_INTERVAL_S = 600.0
REMEMBERED = 4096
"""Offenders remembered; the one whose latest offence is oldest is forgotten first, so memory is bounded."""


@dataclass
class _Offence:
    logged_at: float
    since_logged: int = 0


class LimitLog:
    """What was refused, by address and code. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._offences: OrderedDict[tuple[str, str], _Offence] = OrderedDict()

    def log(self, address: str, code: str) -> None:
        """Log the offence, unless the same one of the same address was within ten minutes."""
        key, now = (address, code), self._clock()
        with self._lock:
            offence = self._offences.get(key)
            if offence is not None and now - offence.logged_at < LOG_INTERVAL_S:
                offence.since_logged += 1
                self._offences.move_to_end(key)
                return
            before = 0 if offence is None else offence.since_logged
            self._offences[key] = _Offence(now)
            self._offences.move_to_end(key)
            if len(self._offences) > REMEMBERED:
                self._offences.popitem(last=False)
        logger.warning("refused %s: %s (%d more since it was last logged)", address or "a local peer", code, before)


LIMIT_LOG = LimitLog()
"""Of this process."""
