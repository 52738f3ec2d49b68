"""The body of a request to Django: a small one from any client, a large one from authorised clients, within a quota."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO

from coterie.core.errors import CoterieError, ErrorKind
from coterie.gateway.door.body import BodyReader, Event, Receive
from coterie.gateway.door.limits import Limits
from coterie.gateway.door.spool import Quota
from coterie.gateway.http import Disconnected

IN_MEMORY_BYTES = 1 << 20
COPIES = 2
"""Django splits a form into files of its own while the body still exists."""


class BodyTooLong(CoterieError):
    """Fields: limit_bytes."""

    code = "gateway.body_too_long"
    kind = ErrorKind.TOO_LARGE
    sentence = "The body is longer than {limit_bytes} bytes, which is what is read at this address."


class SiteBody:
    """One request's body: read whole, then handed to Django, which learns through it when the client disconnects.

    `allow` returns how many bytes its sender may send; it is called once, when more arrive than an unauthenticated
    client may send.
    """

    def __init__(
        self,
        receive: Receive,
        *,
        declared_bytes: int | None,
        allow: Callable[[], Awaitable[int]],
        quota: Quota,
        spool: Path,
        limits: Limits,
    ) -> None:
        self._receive = receive
        self._declared = declared_bytes
        self._allow = allow
        self._quota = quota
        self._limit = limits.body_bytes
        self._is_allowance_known = False
        self._taken = 0
        self._reader = BodyReader(receive, limits)
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES, dir=str(spool))  # noqa: SIM115 - see close

    async def read(self) -> None:
        """Read the whole body.

        Raises BodyTooLong, SpoolFull, BodyStalled, BodySlow, Disconnected and what `allow` raises: before the first
        byte, where the length is declared.
        """
        if self._declared is not None:
            await self._check(self._declared)
        more = True
        while more:
            event = await self._reader.next()
            if event["type"] == "http.disconnect":
                raise Disconnected
            data: bytes = event.get("body", b"")
            await self._check(self._reader.size_bytes)
            await self._keep(data)
            more = event.get("more_body", False)
        self.file.seek(0)

    async def __call__(self) -> Event:
        """The event after the body: the client has disconnected."""
        return await self._receive()

    async def is_abandoned(self) -> bool:
        """Whether its sender has disconnected since the body was read."""
        asking = asyncio.ensure_future(self._receive())
        await asyncio.sleep(0)
        if asking.done():
            return True
        asking.cancel()
        return False

    def close(self) -> None:
        """Drop the body and release its quota."""
        self.file.close()
        self._quota.give_back(self._taken)
        self._taken = 0

    async def _check(self, size_bytes: int) -> None:
        if size_bytes > self._limit and not self._is_allowance_known:
            self._is_allowance_known = True
            self._limit = max(self._limit, await self._allow())
        if size_bytes > self._limit:
            raise BodyTooLong(limit_bytes=self._limit)

    async def _keep(self, data: bytes) -> None:
        if self._reader.size_bytes <= IN_MEMORY_BYTES:
            self.file.write(data)
            return
        room = COPIES * (self._reader.size_bytes if not self._taken else len(data))
        self._quota.take(room)
        self._taken += room
        await asyncio.to_thread(self.file.write, data)
