"""The devices whose sockets this process holds, and the hints for them: one subscription, however many sockets."""

import asyncio
import secrets
from collections.abc import Collection, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer

from coterie.core.events import DEVICES

RESTART = "restart"
"""The hint that the process is about to end."""


class Inbox:
    """The hints that one socket has not passed on yet: each kind once, however often it was sent."""

    def __init__(self) -> None:
        self.socket = secrets.token_hex(8)
        self._kinds: set[str] = set()
        self._some = asyncio.Event()

    def put(self, kind: str) -> None:
        """Add a hint."""
        self._kinds.add(kind)
        self._some.set()

    async def take(self) -> Collection[str]:
        """Wait for hints, then return all that are pending."""
        await self._some.wait()
        self._some.clear()
        kinds, self._kinds = self._kinds, set()
        return kinds


class _Subscription(NamedTuple):
    """This process's subscription to the hints for devices."""

    task: asyncio.Task[None]
    begun: asyncio.Future[None]


class ConnectedDevices:
    """The sockets of one loop by device; subscribed to hints while there are any."""

    def __init__(self) -> None:
        self._inboxes: dict[str, list[Inbox]] = {}
        self._subscription: _Subscription | None = None
        self.spread_s = 0.0
        """Within how many seconds devices whose socket is closed are to connect again."""

    def begin_to_close(self, *, per_second: float) -> Sequence[Inbox]:
        """The inboxes of all sockets; the devices will be told to connect again, `per_second` of them in a second."""
        inboxes = [inbox for own in self._inboxes.values() for inbox in own]
        self.spread_s = len(inboxes) / per_second
        return inboxes

    @staticmethod
    def close(inbox: Inbox) -> None:
        """Have a socket closed."""
        inbox.put(RESTART)

    async def join(self, device_id: str) -> Inbox:
        """Add a socket of a device: hints sent from now on reach its inbox. Raises whatever the layer raises."""
        inbox = Inbox()
        self._inboxes.setdefault(device_id, []).append(inbox)
        if self._subscription is None:
            begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._subscription = _Subscription(asyncio.create_task(self._listen(begun)), begun)
        try:
            await asyncio.shield(self._subscription.begun)
        except BaseException:
            await self.leave(device_id, inbox)
            raise
        return inbox

    async def leave(self, device_id: str, inbox: Inbox) -> None:
        """Remove a socket; the last one ends the subscription."""
        inboxes = self._inboxes[device_id]
        inboxes.remove(inbox)
        if not inboxes:
            del self._inboxes[device_id]
        if not self._inboxes and self._subscription is not None:
            subscription, self._subscription = self._subscription, None
            subscription.task.cancel()
            await asyncio.gather(subscription.task, return_exceptions=True)

    async def _listen(self, begun: asyncio.Future[None]) -> None:
        layer = get_channel_layer()
        channel: str = await layer.new_channel()
        try:
            await layer.group_add(DEVICES, channel)
        except Exception as error:  # noqa: BLE001 - raised for those that wait for it
            self._subscription = None  # the next socket tries again
            begun.set_exception(error)
            return
        begun.set_result(None)
        try:
            while True:
                event = await layer.receive(channel)
                for named in event["devices"]:
                    device_id, _, socket = named.partition(" ")
                    for inbox in self._inboxes.get(device_id, ()):
                        if inbox.socket != socket:
                            inbox.put(event["type"])
        finally:
            await layer.group_discard(DEVICES, channel)


_of_loops: "WeakKeyDictionary[asyncio.AbstractEventLoop, ConnectedDevices]" = WeakKeyDictionary()


def connected_devices() -> ConnectedDevices:
    """The connected devices of the running loop."""
    return _of_loops.setdefault(asyncio.get_running_loop(), ConnectedDevices())
