"""The one way in which system tests wait."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(look: Callable[[], T | None], *, within_s: float = 30.0, every_s: float = 0.05) -> T:
    """What `look` gives once that is true. Raises AssertionError when it has not become so in time."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {within_s:g} s; the last look gave {found!r}"
        time.sleep(every_s)
