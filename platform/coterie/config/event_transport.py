"""Celery's in-memory broker woken by an event: kombu's own polls, which costs either latency or idle CPU."""

import threading
from queue import Empty
from time import monotonic

from kombu.transport import memory, virtual

WHEN_PENDING_S = 0.005  # nothing tells when an acknowledgement frees room to prefetch, so look again soon
WHEN_EMPTY_S = 1.0

_arrived = threading.Event()


class Channel(memory.Channel):
    """A channel that announces what is put on its queues."""

    def _put(self, queue: str, message: dict[str, object], **kwargs: object) -> None:
        super()._put(queue, message, **kwargs)
        _arrived.set()


class Transport(memory.Transport):
    """The transport whose consumers sleep until a message arrives."""

    Channel = Channel
    global_state = virtual.BrokerState()

    def drain_events(self, connection: object, timeout: float | None = None, **_: object) -> None:  # noqa: ARG002
        """Deliver one message. Raises TimeoutError when none came within `timeout` seconds."""
        deadline = None if timeout is None else monotonic() + timeout
        assert self.cycle is not None
        while True:
            _arrived.clear()
            try:
                self.cycle.get(self._deliver, timeout=timeout)
            except Empty:
                left = WHEN_EMPTY_S if deadline is None else deadline - monotonic()
                if left <= 0:
                    raise TimeoutError from None
                pending = any(queue.qsize() for queue in list(Channel.queues.values()))
                _arrived.wait(min(left, WHEN_PENDING_S if pending else WHEN_EMPTY_S))
            else:
                return
