"""Limits concurrent requests by client, so that no client takes all threads."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from coterie.core.errors import CoterieError, ErrorKind

WAIT_S = 5
"""The wait that a rejected client is told."""


class Busy(CoterieError):
    """Fields: wait_s."""

    code = "gateway.busy"
    kind = ErrorKind.UNAVAILABLE
    sentence = "Too many requests wait to be answered; try again in {wait_s} s."


class TooManyWaiting(CoterieError):
    """Fields: limit, wait_s."""

    code = "gateway.too_many_waiting"
    kind = ErrorKind.THROTTLED
    sentence = "{limit} requests of this client are being answered or wait already; try again in {wait_s} s."


@dataclass
class _Queue:
    """One client's requests: a semaphore that is removed with the last of them."""

    turns: asyncio.Semaphore
    users: int = field(default=0)


class Turns:
    """Admits a limited number of requests at a time, per client and in total. Used on one event loop."""

    def __init__(
        self, *, each: int, all_at_once: int | None = None, wait_s: float | None = None, most: int | None = None
    ) -> None:
        self._each = each
        self._most = most
        self._all = None if all_at_once is None else asyncio.Semaphore(all_at_once)
        self._wait_s = wait_s
        self._queues: dict[str, _Queue] = {}

    @asynccontextmanager
    async def turn(self, who: str) -> AsyncIterator[None]:
        """Wait for a turn of `who`.

        Raises Busy when it does not come in time, or TooManyWaiting where `who` has `most` requests already.
        """
        queue = self._queues.setdefault(who, _Queue(asyncio.Semaphore(self._each)))
        if self._most is not None and queue.users >= self._most:
            raise TooManyWaiting(limit=self._most, wait_s=WAIT_S)
        queue.users += 1
        try:
            async with self._taken(queue.turns):
                if self._all is None:
                    yield
                else:
                    async with self._taken(self._all):
                        yield
        finally:
            queue.users -= 1
            if not queue.users:
                del self._queues[who]

    @asynccontextmanager
    async def _taken(self, turns: asyncio.Semaphore) -> AsyncIterator[None]:
        try:
            await asyncio.wait_for(turns.acquire(), self._wait_s)
        except TimeoutError as error:
            raise Busy(wait_s=WAIT_S) from error
        try:
            yield
        finally:
            turns.release()
