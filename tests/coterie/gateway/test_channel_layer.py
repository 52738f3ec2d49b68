import asyncio
import threading

from coterie.gateway.channel_layer import ThreadSafeChannelLayer


async def test_reaches_every_member_of_a_group_in_order() -> None:
    layer = ThreadSafeChannelLayer()
    channels = [await layer.new_channel() for _ in range(600)]
    for channel in channels:
        await layer.group_add("g", channel)
    for number in range(2):
        await layer.group_send("g", {"type": "t", "number": number})
    heard = [[(await layer.receive(channel))["number"] for _ in range(2)] for channel in channels]
    assert heard == [[0, 1]] * 600


async def test_a_send_on_another_threads_loop_wakes_the_reader() -> None:
    layer = ThreadSafeChannelLayer()
    channel = await layer.new_channel()
    await layer.group_add("g", channel)
    receiving = asyncio.create_task(layer.receive(channel))
    await asyncio.sleep(0)
    sender = threading.Thread(target=lambda: asyncio.run(layer.group_send("g", {"type": "t"})))
    sender.start()
    assert await asyncio.wait_for(receiving, 10) == {"type": "t"}
    sender.join()


async def test_forgets_a_channel_that_left_and_drops_what_does_not_fit() -> None:
    layer = ThreadSafeChannelLayer(capacity=2)
    slow, gone = await layer.new_channel(), await layer.new_channel()
    for channel in (slow, gone):
        await layer.group_add("g", channel)
    await layer.group_discard("g", gone)
    assert set(layer.inboxes) == {slow}
    for number in range(5):
        await layer.send(slow, {"type": "t", "number": number})
    await asyncio.sleep(0)
    assert [(await layer.receive(slow))["number"] for _ in range(2)] == [0, 1]
    assert layer.inboxes[slow].queue.empty()
    await layer.flush()
    await layer.group_send("g", {"type": "t"})


def test_a_loop_that_has_ended_is_no_obstacle() -> None:
    layer = ThreadSafeChannelLayer()

    async def join() -> None:
        await layer.group_add("g", await layer.new_channel())

    asyncio.run(join())
    asyncio.run(layer.group_send("g", {"type": "t"}))
