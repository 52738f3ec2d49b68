"""The clock that sends periodic work: it goes on when the system's clock is set back, and is seen while it goes."""

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
    """Celery's own, in memory, with a pulse. A schedule that a file keeps would wait for a clock that was set back."""

    _pulse_at = float("-inf")

    def tick(self, *_: object, **__: object) -> float:
        """Send one task that is due; the seconds until the next."""
        LIFE.show("tick")
        wait_s: float = super().tick()
        if time.monotonic() - self._pulse_at >= EVERY_S:
            self._pulse_at = time.monotonic()
            self.record_pulse()
        return wait_s

    def adjust(self, n: float, drift: float = 0.0) -> float:  # noqa: ARG002 - Celery's signature
        """Seconds until an entry is looked at again: as many as there are until it is due.

        Celery looks ten milliseconds earlier, and then over and over without a pause, a hundredth of a core.
        """
        return n

    def schedules_equal(self, old_schedules: object, new_schedules: object) -> bool:  # noqa: ARG002 - Celery's signature
        """Whether the schedule is the one of the tick before: it is of the settings, and never changes.

        To compare all its entries at each tick was a fifth of what an idle platform does.
        """
        return old_schedules is not None

    def record_pulse(self) -> None:
        """Let others see that it goes."""
        record_pulse(datetime.now(UTC))


class RestingScheduler(Scheduler):
    """That of embedded mode, which leaves out what rests, and everything while its disk is full."""

    def apply_entry(self, entry: beat.ScheduleEntry, producer: Producer | None = None) -> None:
        """Send a task whose time has come; none could write on a full disk, and each would say so."""
        if not RESTS.is_on(str(entry.task)) and DISK not in AWAY:
            super().apply_entry(entry, producer=producer)


class Beat:
    """The clock as a thread of the server, which is started again when it ends by itself."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._stopping = threading.Event()
        self._service = self._make()
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)

    def start(self) -> None:
        """Begin to send; returns at once."""
        record_pulse(datetime.now(UTC))  # whoever asks before the first tick is not told that nothing goes
        self._thread.start()

    def stop(self) -> None:
        """Send nothing any more."""
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
        # It looks at its schedule at least each second: nobody waits longer for its end.
        return beat.Service(self._app, max_interval=1, scheduler_cls=RestingScheduler)
