"""Celery's real worker and its beat as threads of the server."""

import threading

from celery import Celery
from celery.platforms import EX_OK
from celery.worker import state

from coterie.config.beat import Beat
from coterie.config.event_transport import be_patient

START_S = 20.0


class EmbeddedWorker:
    """A worker that performs tasks on a pool of threads, and the scheduler that sends periodic work."""

    def __init__(self, app: Celery) -> None:
        self._ready = threading.Event()
        self._worker = app.WorkController(
            pool="threads",
            ready_callback=lambda _consumer: self._ready.set(),
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        self._thread = threading.Thread(target=self._worker.start, name="worker", daemon=True)
        self._beat = Beat(app)

    def start(self) -> None:
        """Return when tasks are being performed. Raises RuntimeError when the worker does not start."""
        state.should_stop = None
        be_patient(True)
        self._thread.start()
        if not self._ready.wait(START_S):
            raise RuntimeError(f"the embedded Celery worker was not ready within {START_S:g} s")
        self._beat.start()

    def stop(self, *, within_s: float) -> bool:
        """Take no more tasks and finish those that run; False when some still run after `within_s` seconds."""
        self._beat.stop()
        state.should_stop = EX_OK  # type: ignore[assignment]  # declared None, meant for an exit code
        be_patient(False)
        self._thread.join(within_s)
        return not self._thread.is_alive()
