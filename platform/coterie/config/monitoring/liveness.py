"""Whether this process still works: its loop runs, tasks end, or its scheduler ticks."""

import asyncio
import threading
import time
from datetime import UTC, datetime
from typing import Literal

from coterie.core.scheduler_heartbeat import is_late

Sign = Literal["loop", "task", "tick"]
SILENT_S = 60.0
BEAT_S = 1.0


class Liveness:
    """When the process last gave the sign of life that is watched."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched_by: Sign = "loop"
        self._shown_at = time.monotonic()

    def watch(self, by: Sign) -> None:
        """Watch this sign from now on."""
        with self._lock:
            self._watched_by, self._shown_at = by, time.monotonic()

    def show(self, sign: Sign) -> None:
        """Record a sign."""
        if sign == self._watched_by:
            with self._lock:
                self._shown_at = time.monotonic()

    def is_over(self) -> bool:
        """Whether signs are overdue, so that the process should be restarted.

        A worker without tasks is not overdue while no tasks are being sent.
        """
        with self._lock:
            silent_s, by = time.monotonic() - self._shown_at, self._watched_by
        return silent_s > SILENT_S and not (by == "task" and is_late(datetime.now(UTC)))

    async def follow_loop(self) -> None:
        """Record signs for as long as the running loop runs."""
        while True:
            self.show("loop")
            await asyncio.sleep(BEAT_S)


LIFE = Liveness()
"""Of this process."""
