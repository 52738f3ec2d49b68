"""A request's body as it arrives, bounded in time and size."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from coterie.core.errors import CoterieError, ErrorKind
from coterie.gateway.door.limits import LIMITS, Limits

Event = Mapping[str, Any]  # Any: ASGI's events are untyped dictionaries by specification
Receive = Callable[[], Awaitable[Event]]


class BodyStalled(CoterieError):
    """The body stopped arriving."""

    code = "gateway.body_stalled"
    kind = ErrorKind.UNAVAILABLE
    sentence = "Nothing of the body came for {silence_s:g} s; ask how far it came and go on from there."


class BodySlow(CoterieError):
    """The body arrives too slowly."""

    code = "gateway.body_slow"
    kind = ErrorKind.UNAVAILABLE
    sentence = (
        "The body came with fewer than {least_bytes_per_s} bytes a second; ask how far it came and go on from there."
    )


class BodyReader:
    """Reads one request's body, within time limits."""

    def __init__(
        self, receive: Receive, limits: Limits = LIMITS, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._receive = receive
        self._limits = limits
        self._clock = clock
        self._began = clock()
        self.size_bytes = 0

    async def next(self) -> Event:
        """The next event. Raises BodyStalled or BodySlow."""
        limits = self._limits
        try:
            event = await asyncio.wait_for(self._receive(), limits.body_silence_s)
        except TimeoutError as error:
            raise BodyStalled(silence_s=limits.body_silence_s) from error
        self.size_bytes += len(event.get("body", b""))
        lasted_s = self._clock() - self._began
        if lasted_s > limits.patience_s and self.size_bytes < lasted_s * limits.least_bytes_per_s:
            raise BodySlow(least_bytes_per_s=limits.least_bytes_per_s)
        return event
