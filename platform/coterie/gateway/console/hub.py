"""Keeps the consoles of one process up to date: on a hint it reads what has changed and sends the differences.

A hint may be lost, and some values change with time only; so everything is read again every few seconds.
"""

import asyncio
import logging
import uuid
from collections.abc import Collection, Iterable
from contextlib import suppress
from time import perf_counter
from weakref import WeakKeyDictionary

from channels.layers import BaseChannelLayer, get_channel_layer
from django.utils import timezone

from coterie.core.events import CONSOLE
from coterie.core.separation import acting_in
from coterie.gateway.console.frames import AnyDocument, AnyServerFrame, Changed, Gone, Hello, Key, Snapshot, Tick
from coterie.gateway.console.mirror import Mirror
from coterie.gateway.console.reading import KINDS, TOUCHES, read
from coterie.gateway.threads import in_thread

logger = logging.getLogger(__name__)

REFRESH_S = 5.0
GATHER_S = 0.1
"""Seconds in which hints are collected before they are handled."""
IDLE_TIMES = 4
"""The pause between two reads, as a multiple of a read's duration: consoles take a fifth of a core at most."""
MAX_BEHIND = 4_000
"""Frames that a console may be behind before it must connect again."""


class Listener:
    """One console: the frames still to be sent to it, and the devices that it shows."""

    def __init__(self, devices: Iterable[str]) -> None:
        self.devices = frozenset(devices)
        self.frames: asyncio.Queue[AnyServerFrame] = asyncio.Queue(MAX_BEHIND)
        self.behind = False

    def queue_frame(self, frame: AnyServerFrame) -> None:
        """Queue a frame, unless it is about a device that this console does not show."""
        key = _about(frame)
        if key is not None and key.kind == "device" and key.id not in self.devices:
            return
        try:
            self.frames.put_nowait(frame)
        except asyncio.QueueFull:
            self.behind = True


class Hub:
    """All consoles of this process that show one project, or all projects; works while there is one."""

    def __init__(self, project: int | None) -> None:
        self._project = project
        self._mirror = Mirror(uuid.uuid4().hex)
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._reading = asyncio.Lock()
        self._cost_s = 0.0

    async def join(self, hello: Hello) -> Listener:
        """Add a console: it receives what it has missed, or everything, and from now on every change."""
        listener = Listener(hello.devices)
        self._listeners.add(listener)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        await self._refresh(KINDS)
        missed = self._mirror.since(hello.epoch, hello.number)
        while not listener.frames.empty():  # frames queued meanwhile are part of what follows
            listener.frames.get_nowait()
        for frame in [self._snapshot_for(listener)] if missed is None else missed:
            listener.queue_frame(frame)
        return listener

    async def watch(self, listener: Listener, devices: Iterable[str]) -> None:
        """Let a console follow other devices; it receives the current state of each."""
        listener.devices = frozenset(devices)
        await self._refresh(("device",))
        for document in list(self._mirror.documents.values()):
            if document.key.kind == "device":
                listener.queue_frame(Changed(number=self._mirror.number, document=document))

    async def leave(self, listener: Listener) -> None:
        """Remove a console; the last one ends the work."""
        self._listeners.discard(listener)
        if not self._listeners and self._task is not None:
            task, self._task = self._task, None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        layer = get_channel_layer()
        channel: str = await layer.new_channel()
        await layer.group_add(CONSOLE, channel)
        hints: asyncio.Queue[str] = asyncio.Queue()
        collecting = asyncio.create_task(_collect_hints(layer, channel, hints))
        try:
            while True:
                due = asyncio.get_running_loop().time() + REFRESH_S
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(due):
                        while True:
                            await self._follow(hints)
                await self._refresh(KINDS)
                for listener in self._listeners:
                    listener.queue_frame(Tick(number=self._mirror.number, at=timezone.now()))
        finally:
            collecting.cancel()
            await asyncio.gather(collecting, return_exceptions=True)
            await layer.group_discard(CONSOLE, channel)

    async def _follow(self, hints: asyncio.Queue[str]) -> None:
        """Handle a hint and those that arrive soon after it."""
        app = await hints.get()
        await asyncio.sleep(max(GATHER_S, self._cost_s * IDLE_TIMES))
        apps = {app, *(hints.get_nowait() for _ in range(hints.qsize()))}
        await self._refresh(kinds_touched(apps))

    async def _refresh(self, kinds: Collection[str]) -> None:
        async with self._reading:  # a later read is sent later
            watched = frozenset().union(*(listener.devices for listener in self._listeners))
            started = perf_counter()
            try:
                fresh = await in_thread(lambda: self._read(kinds, watched))
            except Exception:  # the outermost loop: what failed is read again in a few seconds
                logger.exception("the console's state could not be read")
                return
            self._cost_s = perf_counter() - started
            for event in self._mirror.take(kinds, fresh):
                for listener in self._listeners:
                    listener.queue_frame(event)

    def _read(self, kinds: Collection[str], watched: frozenset[str]) -> list[AnyDocument]:
        with acting_in(self._project):
            return list(read(kinds, watched, timezone.now()))

    def _snapshot_for(self, listener: Listener) -> Snapshot:
        whole = self._mirror.snapshot()
        documents = tuple(
            document for document in whole.documents if document.key.kind != "device" or document.id in listener.devices
        )
        return Snapshot(number=whole.number, epoch=whole.epoch, documents=documents)


_hubs: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int | None, Hub]]" = WeakKeyDictionary()


def hub(project: int | None) -> Hub:
    """The running loop's hub for consoles that show a project; None: all projects."""
    hubs = _hubs.setdefault(asyncio.get_running_loop(), {})
    return hubs.setdefault(project, Hub(project))


def kinds_touched(apps: Iterable[str]) -> tuple[str, ...]:
    """The kinds of documents to read again after a change in `apps`."""
    return tuple(dict.fromkeys(kind for app in apps for kind in TOUCHES.get(app, ())))


def _about(frame: AnyServerFrame) -> Key | None:
    if isinstance(frame, Changed):
        return frame.document.key
    return Key(frame.kind, frame.id) if isinstance(frame, Gone) else None


async def _collect_hints(layer: BaseChannelLayer, channel: str, hints: "asyncio.Queue[str]") -> None:
    while True:
        event = await layer.receive(channel)
        hints.put_nowait(str(event["app"]))
