"""Secrets that were valid a moment ago, in bounded memory."""

import time
from collections import OrderedDict
from collections.abc import Callable

from coterie.core.credentials import hash_secret

KNOWN_S = 60.0
"""Seconds for which a secret that was valid counts as known; the answer to a request looks it up in any case."""
REMEMBERED = 65_536


class Known:
    """Hashes of secrets. Used on one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()

    def __contains__(self, secret: object) -> bool:
        return self._until.get(hash_secret(str(secret)), 0.0) > self._clock()

    def __len__(self) -> int:
        return len(self._until)

    def add(self, secret: str) -> None:
        """It was valid just now."""
        key = hash_secret(secret)
        self._until.pop(key, None)
        self._until[key] = self._clock() + KNOWN_S
        if len(self._until) > REMEMBERED:
            self._until.popitem(last=False)
