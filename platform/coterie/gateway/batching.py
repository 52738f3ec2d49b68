"""Answers messages of many devices in batches: those that arrive while a batch is answered form the next one."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

from coterie.gateway.door.requester import requesting
from coterie.gateway.threads import in_thread

AT_ONCE = 64
"""Largest batch: a larger one would hold the database's lock for longer and save little."""
APART_S = 0.02
"""Least seconds between the starts of two batches, so that a steady stream forms batches; a single message is never
delayed.
"""


class BatchedMessage(NamedTuple):
    """One device's message."""

    credential: str
    body: bytes
    by_socket: bool = False
    certificate: str = ""
    """SHA-256 of its connection's certificate."""


Answer = Callable[[Sequence[BatchedMessage]], Sequence[bytes | Exception]]
"""The reply to each message, or the error raised for it, in order; a credential occurs once."""


class Batches:
    """The batches of one kind of message, on one event loop."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._waiting: list[tuple[BatchedMessage, asyncio.Future[bytes]]] = []
        self._not_before = 0.0
        self._working: asyncio.Task[None] | None = None

    async def ask(self, message: BatchedMessage) -> bytes:
        """The answer to `message`. Raises the error that `Answer` gives instead."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[bytes] = loop.create_future()
        self._waiting.append((message, answered))
        if self._working is None:
            with requesting(None):  # a batch is not charged to any single requester
                self._working = loop.create_task(self._work())
        return await answered

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(max(0.0, self._not_before - loop.time()))
            self._not_before = loop.time() + APART_S
            batch = self._take()
            try:
                answers = await in_thread(partial(self._answer, [message for message, _ in batch]))
            except Exception as error:  # noqa: BLE001 - told to each who waits for it
                answers = [error] * len(batch)
            for (_, answered), answer in zip(batch, answers, strict=True):
                if answered.done():
                    continue  # the sender has disconnected
                if isinstance(answer, Exception):
                    answered.set_exception(answer)
                else:
                    answered.set_result(answer)
        self._working = None

    def _take(self) -> list[tuple[BatchedMessage, asyncio.Future[bytes]]]:
        """The next batch, each credential once; the other messages keep their order."""
        batch: dict[str, tuple[BatchedMessage, asyncio.Future[bytes]]] = {}
        rest = []
        for item in self._waiting:
            if len(batch) < AT_ONCE and item[0].credential not in batch:
                batch[item[0].credential] = item
            else:
                rest.append(item)
        self._waiting = rest
        return list(batch.values())


_of_loops: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Answer, Batches]]" = WeakKeyDictionary()


def batches(answer: Answer) -> Batches:
    """The running loop's batches for `answer`."""
    known = _of_loops.setdefault(asyncio.get_running_loop(), {})
    if answer not in known:
        known[answer] = Batches(answer)
    return known[answer]
