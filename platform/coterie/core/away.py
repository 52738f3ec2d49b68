"""Which servers do not answer at the moment: shown in the log, by ``/healthz`` and among the repairs."""

import logging
import threading
import time
from collections.abc import Callable, Mapping

logger = logging.getLogger(__name__)

REDIS = "redis"
DATABASE = "database"
DISK = "disk"
STORAGE = "storage"
SENTENCES: Mapping[str, str] = {
    REDIS: "Redis does not answer: limits count within each process, and a device hears what other processes tell it "
    "only when it checks in",
    DATABASE: "The database does not answer: requests get 503 until it does",
    STORAGE: "The file storage does not answer as it should: uploads and downloads get 503, and merges and jobs wait, "
    "until it does",
    DISK: "The disk that the database is on is full: requests get 503 until there is room",
}
PROBE_EVERY_S = 2.0


class Away:
    """The servers that did not answer this process's last request. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._tried_at: dict[str, float] = {}

    def record_failure(self, server: str) -> None:
        """Record that it did not answer."""
        with self._lock:
            new = server not in self._tried_at
            self._tried_at[server] = self._clock()
        if new:
            logger.warning("%s", SENTENCES[server])

    def record_answer(self, server: str) -> None:
        """Record that it answered."""
        if server not in self._tried_at:  # nearly always: no lock is taken
            return
        with self._lock:
            found = self._tried_at.pop(server, None)
        if found is not None:
            logger.warning("%s answers again", server)

    def __contains__(self, server: object) -> bool:
        return server in self._tried_at

    def should_try(self, server: str) -> bool:
        """Whether to call the server: its last call was answered, or failed a while ago. One caller at a time gets True
        then.
        """
        if server not in self._tried_at:
            return True
        with self._lock:
            tried_at = self._tried_at.get(server)
            if tried_at is None:
                return True
            if self._clock() - tried_at < PROBE_EVERY_S:
                return False
            self._tried_at[server] = self._clock()
            return True

    def sentences(self) -> Mapping[str, str]:
        """The consequence, by server that does not answer."""
        return {server: SENTENCES[server] for server in sorted(self._tried_at)}


AWAY = Away()
"""Of this process."""
