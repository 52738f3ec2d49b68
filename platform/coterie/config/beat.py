"""The scheduler of periodic work: it continues when the system's clock is set back, and records heartbeats."""

import logging
import threading
import time
from datetime import UTC, datetime

from celery import Celery, beat
from kombu import Producer

from coterie.config.monitoring.liveness import LIFE
from coterie.core.away import AWAY, DISK
from coterie.core.resting import RESTS
from coterie.core.scheduler_heartbeat import EVERY_S, record_pulse

logger = logging.getLogger(__name__)

RESTART_S = 1.0


class Scheduler(beat.Scheduler):
    """Celery's own, in memory, with a heartbeat. A schedule stored in a file would wait if the clock were set back."""

    _pulse_at = float("-inf")

    def tick(self, *_: object, **__: object) -> float:
        """Send one due task; returns the seconds until the next."""
        LIFE.show("tick")
        wait_s: float = super().tick()
        if time.monotonic() - self._pulse_at >= EVERY_S:
            self._pulse_at = time.monotonic()
            self.record_pulse()
        return wait_s

    def adjust(self, n: float, drift: float = 0.0) -> float:  # noqa: ARG002 - Celery's signature
        """Seconds until an entry is checked again: as many as there are until it is due.

        Celery checks ten milliseconds earlier, and then repeatedly without a pause, which costs a hundredth of a core.
        """
        return n

    def schedules_equal(self, old_schedules: object, new_schedules: object) -> bool:  # noqa: ARG002 - Celery's signature
        """Always true: the schedule is part of the settings and never changes.

        Comparing all its entries at each tick would be a fifth of the work of an idle platform.
        """
        return old_schedules is not None

    def record_pulse(self) -> None:
        """Record a heartbeat."""
        record_pulse(datetime.now(UTC))


class RestingScheduler(Scheduler):
    """The scheduler of embedded mode, which skips resting tasks, and all tasks while its disk is full."""

    def apply_entry(self, entry: beat.ScheduleEntry, producer: Producer | None = None) -> None:
        """Send a due task, unless it rests; none could write on a full disk, and each would log that."""
        if not RESTS.is_on(str(entry.task)) and DISK not in AWAY:
            super().apply_entry(entry, producer=producer)


class Beat:
    """The scheduler as a thread of the server, restarted when it ends by itself."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._stopping = threading.Event()
        self._service = self._make()
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)

    def start(self) -> None:
        """Start; returns at once."""
        record_pulse(datetime.now(UTC))  # a check before the first tick must not report a missing heartbeat
        self._thread.start()

    def stop(self) -> None:
        """Stop sending tasks."""
        self._stopping.set()
        self._service.stop()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._service.start()
            except Exception:
                logger.exception("the clock of periodic work ended; it starts again")
            self._service = self._make()
            self._stopping.wait(RESTART_S)

    def _make(self) -> beat.Service:
        # It checks its schedule at least each second: nobody waits longer for its end.
        return beat.Service(self._app, max_interval=1, scheduler_cls=RestingScheduler)
