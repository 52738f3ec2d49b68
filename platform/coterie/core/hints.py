"""Sends hints: one thread and event loop per process, to which all other threads pass what is to be sent.

Hints that arrive while others are being sent go out together. A hint that cannot be sent is logged and raises no error:
the committed data do not depend on it.
"""

import asyncio
import atexit
import logging
import os
import threading
from collections.abc import Iterable
from typing import NamedTuple

from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)

DEVICES_A_MESSAGE = 5_000
"""So many identifiers take some 200 kB."""
EXIT_FLUSH_S = 2.0
"""How long a process that exits waits for its last hints to be sent."""


class Hint(NamedTuple):
    """Something has changed: for all members of `group`, or for some devices whose sockets they hold."""

    group: str
    kind: str
    devices: tuple[str, ...] = ()
    app: str = ""


class Message(NamedTuple):
    """One event for a channel group."""

    group: str
    event: dict[str, object]


def messages_of(hints: Iterable[Hint]) -> list[Message]:
    """`hints` in as few messages as possible; each device once a kind, each app once."""
    devices: dict[tuple[str, str], dict[str, None]] = {}
    apps: dict[Hint, None] = {}
    for hint in hints:
        if hint.devices:
            devices.setdefault((hint.group, hint.kind), {}).update(dict.fromkeys(hint.devices))
        else:
            apps[hint] = None
    found = [Message(hint.group, {"type": hint.kind, "app": hint.app}) for hint in apps]
    for (group, kind), named in devices.items():
        names = list(named)
        for begin in range(0, len(names), DEVICES_A_MESSAGE):
            found.append(Message(group, {"type": kind, "devices": names[begin : begin + DEVICES_A_MESSAGE]}))
    return found


class Sender:
    """The thread, its event loop, and the hints to be sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Hint] = []
        self._all_sent = threading.Event()
        self._all_sent.set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="hints", daemon=True).start()
        self._sending: asyncio.Task[None] | None = None

    def enqueue(self, hint: Hint) -> None:
        """Send `hint` soon."""
        with self._lock:
            self._waiting.append(hint)
            if not self._all_sent.is_set():
                return
            self._all_sent.clear()
        self._loop.call_soon_threadsafe(self._begin)

    def wait(self, within_s: float) -> None:
        """Return when all hints were sent, or after `within_s` seconds."""
        self._all_sent.wait(within_s)

    def _begin(self) -> None:
        self._sending = self._loop.create_task(self._send_waiting())

    async def _send_waiting(self) -> None:
        while True:
            with self._lock:
                hints, self._waiting = self._waiting, []
                if not hints:
                    self._all_sent.set()
                    return
            for message in messages_of(hints):
                try:
                    await get_channel_layer().group_send(message.group, message.event)
                except Exception:  # the outermost loop: whatever a layer raises, the other hints are still sent
                    logger.exception("a hint could not be sent")


class _Process:
    """The sender of this process, created for its first hint; a forked child creates its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sender: Sender | None = None
        os.register_at_fork(after_in_child=self._reset_after_fork)
        atexit.register(self._end)

    def sender(self) -> Sender:
        with self._lock:
            if self._sender is None:
                self._sender = Sender()
            return self._sender

    def _reset_after_fork(self) -> None:
        self._lock = threading.Lock()
        self._sender = None

    def _end(self) -> None:
        if self._sender is not None:
            self._sender.wait(EXIT_FLUSH_S)


_process = _Process()


def send_hint(hint: Hint) -> None:
    """Send `hint` soon, from the sender's thread."""
    _process.sender().enqueue(hint)


def wait_for_hints(*, within_s: float) -> None:
    """Return when every hint of this process was sent, or after `within_s` seconds."""
    _process.sender().wait(within_s)
