"""Groups of sockets inside one process, quick with thousands of members and reachable from every thread.

Channels' own in-memory layer walks all channels at each receive, copies and schedules once per member, and its queues
do not wake a reader on another thread's loop. Here the loop that reads a bounded queue also puts messages on it. A
message that does not fit is dropped: messages are hints.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from channels.layers import InMemoryChannelLayer

logger = logging.getLogger(__name__)

Event = Mapping[str, object]
YIELD_EVERY = 256  # members served before the loop's other work gets a turn


class Inbox(NamedTuple):
    """The queue of one channel and the loop that reads it."""

    loop: asyncio.AbstractEventLoop
    queue: "asyncio.Queue[Event]"


class ThreadSafeChannelLayer(InMemoryChannelLayer):  # type: ignore[misc]  # channels is untyped
    """Inboxes live from `new_channel` until their reader leaves its last group; nothing expires."""

    def __init__(self, capacity: int = 100, **options: object) -> None:
        super().__init__(capacity=capacity, **options)
        self.inboxes: dict[str, Inbox] = {}
        self.memberships: defaultdict[str, set[str]] = defaultdict(set)

    async def new_channel(self, prefix: str = "specific.") -> str:
        """Name a new channel whose messages the running loop reads."""
        name: str = await super().new_channel(prefix)
        self.inboxes[name] = Inbox(asyncio.get_running_loop(), asyncio.Queue(self.capacity))
        return name

    async def receive(self, channel: str) -> Event:
        """The next message on `channel`, which `new_channel` named."""
        return await self.inboxes[channel].queue.get()

    async def send(self, channel: str, message: Event) -> None:
        """Put `message` on one channel."""
        self._post([channel], message)

    async def group_add(self, group: str, channel: str) -> None:
        """Add `channel` to `group`."""
        await super().group_add(group, channel)
        self.memberships[channel].add(group)

    async def group_discard(self, group: str, channel: str) -> None:
        """Undo `group_add`; a channel that is in no group any more is removed."""
        await super().group_discard(group, channel)
        groups = self.memberships[channel]
        groups.discard(group)
        if not groups:
            del self.memberships[channel]
            self.inboxes.pop(channel, None)

    async def group_send(self, group: str, message: Event) -> None:
        """Put `message` on every channel of `group`; callable on any thread's loop."""
        self.require_valid_group_name(group)
        self._post(list(self.groups.get(group, ())), message)

    async def flush(self) -> None:
        """Remove all channels and groups."""
        await super().flush()
        self.inboxes.clear()
        self.memberships.clear()

    def _post(self, channels: list[str], message: Event) -> None:
        by_loop: defaultdict[asyncio.AbstractEventLoop, list[asyncio.Queue[Event]]] = defaultdict(list)
        for channel in channels:
            inbox = self.inboxes.get(channel)
            if inbox is not None:
                by_loop[inbox.loop].append(inbox.queue)
        for loop, queues in by_loop.items():
            if not loop.is_closed():
                asyncio.run_coroutine_threadsafe(_put_on_each(queues, message), loop)


async def _put_on_each(queues: list[asyncio.Queue[Event]], message: Event) -> None:
    for number, queue in enumerate(queues, start=1):
        try:
            queue.put_nowait(dict(message))
        except asyncio.QueueFull:
            logger.warning("a socket does not keep up; dropped %s", message.get("type"))
        if number % YIELD_EVERY == 0:
            await asyncio.sleep(0)
