"""Checkpoints are written while training goes on: one thing after the other, in a thread of their own.

The state is copied before; the thread hashes, writes and waits for the disk without Python's lock, so that steps are
computed meanwhile.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self


class Writer:
    """As a context manager it leaves nothing undone."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._last: Future[None] | None = None

    def then(self, act: Callable[[], None]) -> None:
        """Have `act` done after all that was asked for before; never, where something before it failed."""
        former = self._last

        def follow() -> None:
            if former is not None:
                former.result()
            act()

        self._last = self._threads.submit(follow)

    def wait(self) -> None:
        """Until all is done. Raises what kept something from being done."""
        if self._last is not None:
            self._last.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Wait; raises as `wait` does, unless something else was raised before."""
        self._threads.shutdown(wait=True)
        if error is None:
            self.wait()
