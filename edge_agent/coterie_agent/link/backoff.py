"""How long to wait before the next attempt: exponential back-off with full jitter.

Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
"""

import random
from dataclasses import dataclass

FIRST_S = 0.5


@dataclass(frozen=True)
class Backoff:
    """The number of failures so far, as an immutable value."""

    failures: int = 0

    def failed(self) -> "Backoff":
        return Backoff(self.failures + 1)

    def delay_s(self, *, longest_s: float, rng: random.Random) -> float:
        """Seconds to wait: uniform between nothing and a limit that doubles with each failure up to `longest_s`."""
        if not self.failures:
            return 0.0
        limit_s = min(longest_s, FIRST_S * 2.0 ** min(self.failures - 1, 30))
        return rng.uniform(0, limit_s)
