"""Which servers do not answer at the moment: shown in the log, by ``/healthz`` and among the repairs."""

import logging
import threading
import time
from collections.abc import Callable, Mapping

logger = logging.getLogger(__name__)

REDIS = "redis"
DATABASE = "database"
DISK = "disk"
SENTENCES: Mapping[str, str] = {
    REDIS: "Redis does not answer: limits count within each process, and a device hears what other processes tell it "
    "only when it checks in",
    DATABASE: "The database does not answer: requests get 503 until it does",
    DISK: "The disk that the database is on is full: requests get 503 until there is room",
}
PROBE_EVERY_S = 2.0


class Away:
    """The servers that did not answer when they were last asked, in this process. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._asked_at: dict[str, float] = {}

    def gone(self, server: str) -> None:
        """It did not answer."""
        with self._lock:
            new = server not in self._asked_at
            self._asked_at[server] = self._clock()
        if new:
            logger.warning("%s", SENTENCES[server])

    def back(self, server: str) -> None:
        """It answered."""
        if server not in self._asked_at:  # nearly always: no lock is taken
            return
        with self._lock:
            found = self._asked_at.pop(server, None)
        if found is not None:
            logger.warning("%s answers again", server)

    def __contains__(self, server: object) -> bool:
        return server in self._asked_at

    def worth_asking(self, server: str) -> bool:
        """Whether to call the server: it answered last, or its last failure is a while ago. One caller at a time."""
        if server not in self._asked_at:
            return True
        with self._lock:
            asked_at = self._asked_at.get(server)
            if asked_at is None:
                return True
            if self._clock() - asked_at < PROBE_EVERY_S:
                return False
            self._asked_at[server] = self._clock()
            return True

    def sentences(self) -> Mapping[str, str]:
        """By server that does not answer, what follows from it."""
        return {server: SENTENCES[server] for server in sorted(self._asked_at)}


AWAY = Away()
"""Of this process."""
