"""Secrets that were valid recently, in bounded memory."""

import time
from collections import OrderedDict
from collections.abc import Callable

from coterie.core.credentials import hash_secret

KNOWN_S = 60.0
"""Seconds for which a secret counts as known after it was valid; the answer to a request looks it up in any case."""
KNOWN_BEFORE_S = 86_400.0
"""Seconds for which it does not count as a guess."""
REMEMBERED = 65_536


class KnownSecrets:
    """Hashes of secrets. Used on one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._valid_at: OrderedDict[str, float] = OrderedDict()

    def __contains__(self, secret: object) -> bool:
        return self._is_within(str(secret), KNOWN_S)

    def __len__(self) -> int:
        return len(self._valid_at)

    def was_valid(self, secret: str) -> bool:
        """Whether it was valid within a day, so that presenting it is not a guess."""
        return self._is_within(secret, KNOWN_BEFORE_S)

    def add(self, secret: str, *, ago_s: float = 0.0) -> None:
        """Record that it was valid `ago_s` seconds ago."""
        key = hash_secret(secret)
        self._valid_at.pop(key, None)
        self._valid_at[key] = self._clock() - ago_s
        if len(self._valid_at) > REMEMBERED:
            self._valid_at.popitem(last=False)

    def discard(self, secret: str) -> None:
        """Record that it is no longer valid."""
        self._valid_at.pop(hash_secret(secret), None)

    def _is_within(self, secret: str, seconds: float) -> bool:
        valid_at = self._valid_at.get(hash_secret(secret))
        return valid_at is not None and self._clock() < valid_at + seconds
