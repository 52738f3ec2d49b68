"""Hints reach the sockets that they are for, by one subscription of the process."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
from channels.layers import channel_layers, get_channel_layer

from coterie.core.events import DEVICES, DROP, WAKE
from coterie.gateway.channel_layer import ThreadSafeChannelLayer
from coterie.gateway.connected import ConnectedDevices

WAIT_S = 10.0


class Layer(ThreadSafeChannelLayer):
    """The layer of embedded mode, which can be away."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False

    async def group_add(self, group: str, channel: str) -> None:
        if self.away:
            raise OSError("the broker is away")
        await super().group_add(group, channel)

    async def tell(self, kind: str, *devices: str) -> None:
        event: Mapping[str, object] = {"type": kind, "devices": list(devices)}
        await self.group_send(DEVICES, event)


@pytest.fixture
async def layer() -> AsyncIterator[Layer]:
    before, layer = get_channel_layer(), Layer()
    channel_layers.set("default", layer)
    yield layer
    channel_layers.set("default", before)


async def test_every_socket_of_a_named_device_hears_and_no_other(layer: Layer) -> None:
    connected = ConnectedDevices()
    first, again, other = [await connected.join(name) for name in ("d-1", "d-1", "d-2")]
    assert len(layer.inboxes) == 1, "one subscription, however many sockets"
    await layer.tell(WAKE, "d-1", "d-3")
    assert [set(await asyncio.wait_for(inbox.take(), WAIT_S)) for inbox in (first, again)] == [{WAKE}] * 2
    await layer.tell(DROP, "d-2")
    assert set(await asyncio.wait_for(other.take(), WAIT_S)) == {DROP}
    for name, inbox in (("d-1", first), ("d-1", again), ("d-2", other)):
        await connected.leave(name, inbox)


async def test_what_a_socket_has_not_passed_on_is_kept_once_a_kind(layer: Layer) -> None:
    connected = ConnectedDevices()
    slow, quick = await connected.join("d-1"), await connected.join("d-2")
    for _ in range(1_000):
        await layer.tell(WAKE, "d-1")
        await layer.tell(WAKE, "d-2")
        assert await asyncio.wait_for(quick.take(), WAIT_S)
    await layer.tell(DROP, "d-1", "d-2")
    assert set(await asyncio.wait_for(quick.take(), WAIT_S)) == {DROP}
    assert set(await asyncio.wait_for(slow.take(), WAIT_S)) == {WAKE, DROP}
    await connected.leave("d-1", slow)
    await connected.leave("d-2", quick)


async def test_the_last_socket_ends_the_subscription_and_the_next_begins_one(layer: Layer) -> None:
    connected = ConnectedDevices()
    for _ in range(2):
        inbox = await connected.join("d-1")
        await layer.tell(WAKE, "d-1")
        assert await asyncio.wait_for(inbox.take(), WAIT_S)
        await connected.leave("d-1", inbox)
        assert not layer.inboxes


async def test_a_socket_is_refused_while_the_layer_is_away_and_taken_when_it_is_back(layer: Layer) -> None:
    connected = ConnectedDevices()
    layer.away = True
    refused = await asyncio.gather(connected.join("d-1"), connected.join("d-2"), return_exceptions=True)
    assert [str(error) for error in refused] == ["the broker is away"] * 2
    layer.away = False
    inbox = await connected.join("d-1")
    await layer.tell(WAKE, "d-1")
    assert set(await asyncio.wait_for(inbox.take(), WAIT_S)) == {WAKE}
    await connected.leave("d-1", inbox)
