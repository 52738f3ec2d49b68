"""What comes while others are answered is answered together, and what is wrong with one is its own affair."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from coterie.gateway.batching import AT_ONCE, BatchedMessage, Batches

WAIT_S = 10.0


class Desk:
    """Answers with the message in capitals, and keeps which came together; can be held up."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.open = threading.Event()
        self.open.set()
        self.begun = threading.Event()

    def __call__(self, asked: Sequence[BatchedMessage]) -> Sequence[bytes | Exception]:
        self.batches.append([one.credential for one in asked])
        self.begun.set()
        assert self.open.wait(WAIT_S)
        return [ValueError(one.credential) if one.body == b"bad" else one.body.upper() for one in asked]


async def begun(desk: Desk) -> None:
    assert await asyncio.to_thread(desk.begun.wait, WAIT_S)


async def test_what_comes_meanwhile_is_answered_together_and_in_order() -> None:
    desk = Desk()
    batches = Batches(desk)
    desk.open.clear()
    first = asyncio.create_task(batches.ask(BatchedMessage("first", b"a")))
    await begun(desk)
    others = [asyncio.create_task(batches.ask(BatchedMessage(f"d-{number}", b"b"))) for number in range(AT_ONCE + 1)]
    await asyncio.sleep(0)
    desk.open.set()
    assert await asyncio.wait_for(asyncio.gather(first, *others), WAIT_S) == [b"A", *[b"B"] * (AT_ONCE + 1)]
    assert [len(batch) for batch in desk.batches] == [1, AT_ONCE, 1]
    assert desk.batches[1] == [f"d-{number}" for number in range(AT_ONCE)]


async def test_one_device_is_once_in_a_batch() -> None:
    desk = Desk()
    batches = Batches(desk)
    asked = [BatchedMessage("d-1", b"a"), BatchedMessage("d-1", b"b"), BatchedMessage("d-2", b"c")]
    answers = await asyncio.wait_for(asyncio.gather(*(batches.ask(one) for one in asked)), WAIT_S)
    assert answers == [b"A", b"B", b"C"]
    assert desk.batches == [["d-1", "d-2"], ["d-1"]]


async def test_an_error_is_told_to_whom_it_concerns() -> None:
    batches = Batches(Desk())
    asked = [BatchedMessage("d-1", b"bad"), BatchedMessage("d-2", b"good")]
    bad, good = await asyncio.gather(*(batches.ask(one) for one in asked), return_exceptions=True)
    assert (repr(bad), good) == ("ValueError('d-1')", b"GOOD")


async def test_who_has_gone_holds_up_nobody() -> None:
    desk = Desk()
    batches = Batches(desk)
    desk.open.clear()
    gone = asyncio.create_task(batches.ask(BatchedMessage("d-1", b"a")))
    stays = asyncio.create_task(batches.ask(BatchedMessage("d-2", b"b")))
    await begun(desk)
    gone.cancel()
    desk.open.set()
    assert await asyncio.wait_for(stays, WAIT_S) == b"B"
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_a_batch_that_fails_as_a_whole_fails_all_in_it_and_not_the_next() -> None:
    failures = [OSError("the disk is full")]

    def answer(asked: Sequence[BatchedMessage]) -> Sequence[bytes | Exception]:
        if failures:
            raise failures.pop()
        return [b"ok"] * len(asked)

    batches = Batches(answer)
    asked = (batches.ask(BatchedMessage(name, b"")) for name in ("d-1", "d-2"))
    assert [str(error) for error in await asyncio.gather(*asked, return_exceptions=True)] == ["the disk is full"] * 2
    assert await batches.ask(BatchedMessage("d-1", b"")) == b"ok"
