"""Answers what many devices ask at the same time together: what comes while some are answered is answered next."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

from coterie.gateway.threads import in_thread

AT_ONCE = 64
"""Most that are answered together: more would hold the database's lock for long and save little."""
APART_S = 0.02
"""Between the beginnings of two batches, so that a steady stream comes in batches; who comes alone does not wait."""


class Asked(NamedTuple):
    """One device's message."""

    credential: str
    body: bytes


Answer = Callable[[Sequence[Asked]], Sequence[bytes | Exception]]
"""What each is told, or what is raised for it, in their order; of one credential there is one."""


class Batches:
    """Of one kind of message, on one loop."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._waiting: list[tuple[Asked, asyncio.Future[bytes]]] = []
        self._not_before = 0.0
        self._working: asyncio.Task[None] | None = None

    async def ask(self, asked: Asked) -> bytes:
        """The answer. Raises what `Answer` gives instead of one."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[bytes] = loop.create_future()
        self._waiting.append((asked, answered))
        if self._working is None:
            self._working = loop.create_task(self._work())
        return await answered

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(max(0.0, self._not_before - loop.time()))
            self._not_before = loop.time() + APART_S
            batch = self._take()
            try:
                answers = await in_thread(partial(self._answer, [asked for asked, _ in batch]))
            except Exception as error:  # noqa: BLE001 - told to each who waits for it
                answers = [error] * len(batch)
            for (_, answered), answer in zip(batch, answers, strict=True):
                if answered.done():
                    continue  # who asked has gone
                if isinstance(answer, Exception):
                    answered.set_exception(answer)
                else:
                    answered.set_result(answer)
        self._working = None

    def _take(self) -> list[tuple[Asked, asyncio.Future[bytes]]]:
        """The next, each credential once; the rest keeps its order."""
        batch: dict[str, tuple[Asked, asyncio.Future[bytes]]] = {}
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
    """Those of the running loop that are answered so."""
    known = _of_loops.setdefault(asyncio.get_running_loop(), {})
    if answer not in known:
        known[answer] = Batches(answer)
    return known[answer]
