"""Sends hints: one thread a process with one event loop, to which all other threads hand over what is to be sent.

Hints that are handed over while others are being sent go out together. A hint that cannot be sent is logged and raises
no error: the committed data do not depend on it.
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
"""So many identifiers are some 200 kB."""
LAST_WORDS_S = 2.0
"""How long a process that ends waits for its last hints to go out."""


class Hint(NamedTuple):
    """Something has changed: for all who listen to `group`, or for some devices of theirs."""

    group: str
    kind: str
    devices: tuple[str, ...] = ()
    app: str = ""


class Message(NamedTuple):
    """What goes to a channel group."""

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

    def hand_over(self, hint: Hint) -> None:
        """Send `hint` soon."""
        with self._lock:
            self._waiting.append(hint)
            if not self._all_sent.is_set():
                return
            self._all_sent.clear()
        self._loop.call_soon_threadsafe(self._begin)

    def wait(self, within_s: float) -> None:
        """Return when everything was sent, or after `within_s` seconds."""
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
                except Exception:  # the outermost loop: whatever a layer raises, the others go out
                    logger.exception("a hint could not be sent")


class _Process:
    """The sender of this process, which begins with the first hint; one that has forked begins anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sender: Sender | None = None
        os.register_at_fork(after_in_child=self._begin_anew)
        atexit.register(self._end)

    def sender(self) -> Sender:
        with self._lock:
            if self._sender is None:
                self._sender = Sender()
            return self._sender

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._sender = None

    def _end(self) -> None:
        if self._sender is not None:
            self._sender.wait(LAST_WORDS_S)


_process = _Process()


def send_hint(hint: Hint) -> None:
    """Send `hint` soon, from another thread."""
    _process.sender().hand_over(hint)


def wait_for_hints(*, within_s: float) -> None:
    """Return when every hint of this process was sent, or after `within_s` seconds."""
    _process.sender().wait(within_s)
