"""Groups of sockets across processes: each process holds its own, and Redis relays messages to a group.

Where Redis does not answer, hints reach the sockets of their own process only, and no socket is refused because of it.
"""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit

import msgspec
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from coterie.core.away import AWAY, REDIS
from coterie.gateway.channel_layer import Event, ThreadSafeChannelLayer
from coterie_wire.structs import from_json

CONNECT_S = 2.0
AGAIN_S = 1.0
HEARTBEAT_S = 5.0
UNREACHABLE = (RedisError, OSError)


class RelayedChannelLayer(ThreadSafeChannelLayer):
    """Publishes to Redis, and receives messages for its own groups from there."""

    def __init__(self, url: str, capacity: int = 100, **options: object) -> None:
        super().__init__(capacity=capacity, **options)
        self._url = url
        # Redis's channels are not per database, and two platforms may share a server.
        self._prefix = f"coterie{urlsplit(url).path}:"
        self._publisher = Redis.from_url(url, socket_connect_timeout=CONNECT_S, socket_timeout=CONNECT_S)
        self._receiver: asyncio.Task[None] | None = None
        self._subscriptions: PubSub | None = None

    async def group_add(self, group: str, channel: str) -> None:
        """Add `channel` to `group`, also for messages of other processes."""
        new = group not in self.groups
        await super().group_add(group, channel)
        if self._receiver is None or self._receiver.done():
            self._receiver = asyncio.create_task(self._keep_receiving())
        elif new:
            await self._update_subscription("subscribe", group)

    async def group_discard(self, group: str, channel: str) -> None:
        """Undo `group_add`."""
        await super().group_discard(group, channel)
        if group not in self.groups:
            await self._update_subscription("unsubscribe", group)

    async def group_send(self, group: str, message: Event) -> None:
        """Send to every process's channels of `group`; to this one's where Redis does not answer."""
        self.require_valid_group_name(group)
        if AWAY.should_try(REDIS):
            try:
                # Hints are sent on their own loop, which may wait, also when the interpreter is ending.
                self._publisher.publish(self._prefix + group, msgspec.json.encode(message))
            except UNREACHABLE:
                AWAY.record_failure(REDIS)
            else:
                return
        await super().group_send(group, message)

    async def flush(self) -> None:
        """Remove all channels and groups."""
        if self._receiver is not None:
            self._receiver.cancel()
            self._receiver = None
        await super().flush()

    async def _update_subscription(self, action: str, group: str) -> None:
        subscriptions = self._subscriptions
        if subscriptions is not None:
            with suppress(*UNREACHABLE):  # the receiver notices, and subscribes to all groups again
                await getattr(subscriptions, action)(self._prefix + group)

    async def _keep_receiving(self) -> None:
        """Receive messages of this process's groups as long as it lives."""
        while True:
            try:
                await self._receive_messages()
            except UNREACHABLE:
                AWAY.record_failure(REDIS)
            finally:
                self._subscriptions = None
            await asyncio.sleep(AGAIN_S)

    async def _receive_messages(self) -> None:
        client = AsyncRedis.from_url(
            self._url, socket_connect_timeout=CONNECT_S, health_check_interval=HEARTBEAT_S, retry=None
        )
        async with client, client.pubsub() as subscriptions:
            await subscriptions.subscribe(self._prefix, *(self._prefix + group for group in list(self.groups)))
            self._subscriptions = subscriptions
            AWAY.record_answer(REDIS)
            while True:
                message = await subscriptions.get_message(ignore_subscribe_messages=True, timeout=HEARTBEAT_S)
                if message is not None:
                    group = message["channel"].decode().removeprefix(self._prefix)
                    await super().group_send(group, from_json(message["data"], dict[str, object]))
