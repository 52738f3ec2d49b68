"""Secrets that were valid a moment ago, or some time ago, in bounded memory."""

import time
from collections import OrderedDict
from collections.abc import Callable

from coterie.core.credentials import hash_secret

KNOWN_S = 60.0
"""Seconds for which a secret that was valid counts as known; the answer to a request looks it up in any case."""
KNOWN_BEFORE_S = 86_400.0
"""Seconds for which it is no guess."""
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

    def knew(self, secret: str) -> bool:
        """Whether it was valid within a day: whoever shows it does not guess."""
        return self._is_within(secret, KNOWN_BEFORE_S)

    def add(self, secret: str, *, ago_s: float = 0.0) -> None:
        """It was valid just now, or so long ago."""
        key = hash_secret(secret)
        self._valid_at.pop(key, None)
        self._valid_at[key] = self._clock() - ago_s
        if len(self._valid_at) > REMEMBERED:
            self._valid_at.popitem(last=False)

    def forget(self, secret: str) -> None:
        """It is not valid any more."""
        self._valid_at.pop(hash_secret(secret), None)

    def _is_within(self, secret: str, seconds: float) -> bool:
        valid_at = self._valid_at.get(hash_secret(secret))
        return valid_at is not None and self._clock() < valid_at + seconds
