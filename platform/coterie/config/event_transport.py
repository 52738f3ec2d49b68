"""Celery's in-memory broker woken by an event: kombu's own polls, which costs either latency or idle CPU."""

import threading
from queue import Empty

from kombu.transport import memory, virtual

WHEN_PENDING_S = 0.005  # no event tells when an acknowledgement frees room to prefetch, so check again soon

_arrived = threading.Event()
_patient = threading.Event()
_patient.set()


def be_patient(patient: bool) -> None:
    """Set whether consumers wait for messages; while a worker stops they return at once."""
    (_patient.set if patient else _patient.clear)()
    _arrived.set()


class Channel(memory.Channel):
    """A channel that announces messages put on its queues."""

    def _put(self, queue: str, message: dict[str, object], **kwargs: object) -> None:
        super()._put(queue, message, **kwargs)
        _arrived.set()


class Transport(memory.Transport):
    """A transport whose single consumer sleeps until a message arrives."""

    Channel = Channel
    global_state = virtual.BrokerState()

    def drain_events(self, connection: object, timeout: float | None = None, **_: object) -> None:  # noqa: ARG002
        """Deliver one message. Raises TimeoutError when there was none, within `timeout` seconds."""
        assert self.cycle is not None
        _arrived.clear()
        try:
            self.cycle.get(self._deliver)
        except Empty:
            pending = any(queue.qsize() for queue in list(Channel.queues.values()))
            if _patient.is_set():
                _arrived.wait(WHEN_PENDING_S if pending else timeout)
            raise TimeoutError from None
