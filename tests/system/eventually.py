"""The one way in which system tests wait."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LEAST_S = 0.01
SHARE = 0.2


def eventually(look: Callable[[], T | None], *, within_s: float = 60.0, every_s: float = 0.5) -> T:
    """What `look` gives once that is true. Raises AssertionError when it has not become so in time.

    Looks are paid for by the platform that is looked at: the longer the wait has been, the rarer they are, until there
    is one `every_s` seconds. So no wait is longer by more than a fifth, or by that.
    """
    began = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        waited = time.monotonic() - began
        assert waited < within_s, f"not within {within_s:g} s; the last look gave {found!r}"
        time.sleep(min(every_s, max(LEAST_S, SHARE * waited)))
