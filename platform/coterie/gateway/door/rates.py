"""Rate limits, counted in this process, in bounded memory."""

import time
from collections import OrderedDict
from collections.abc import Callable

from coterie.core.errors import CoterieError, ErrorKind

WINDOW_S = 60.0
REMEMBERED = 65_536
"""Clients remembered; the least recent is dropped, and starts again with a full allowance."""


class TooManyRequests(CoterieError):
    """Fields: who, limit, wait_s."""

    code = "gateway.too_many_requests"
    kind = ErrorKind.THROTTLED
    sentence = "More than {limit} requests came from {who} within a minute; wait {wait_s} s."


class Rates:
    """So many requests a minute for each client, in one burst or evenly (the generic cell rate algorithm,
    ITU-T I.371).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._even: OrderedDict[str, float] = OrderedDict()
        """When each would have asked last, had it asked evenly."""

    def take(self, who: str, *, per_minute: int) -> None:
        """Count one request of `who`. Raises TooManyRequests."""
        now = self._clock()
        even = max(self._even.pop(who, now), now) + WINDOW_S / per_minute
        if even > now + WINDOW_S:
            even -= WINDOW_S / per_minute
            self._keep(who, even)
            raise TooManyRequests(who=who, limit=per_minute, wait_s=max(1, round(even - now - WINDOW_S)))
        self._keep(who, even)

    def spent(self, who: str, *, per_minute: int) -> bool:
        """Whether `take` would raise."""
        return self._even.get(who, 0.0) + WINDOW_S / per_minute > self._clock() + WINDOW_S

    def _keep(self, who: str, even: float) -> None:
        self._even[who] = even
        if len(self._even) > REMEMBERED:
            self._even.popitem(last=False)
