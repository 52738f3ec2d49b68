"""Writes checkpoints while training continues: one after the other, in a separate thread.

The state is copied before; the thread hashes, writes and waits for the disk without holding Python's lock, so that
steps are computed meanwhile.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self


class Writer:
    """As a context manager it waits for everything to be written."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._last: Future[None] | None = None

    def then(self, act: Callable[[], None]) -> None:
        """Run `act` after all earlier ones; never, where an earlier one failed."""
        former = self._last

        def follow() -> None:
            if former is not None:
                former.result()
            act()

        self._last = self._threads.submit(follow)

    def wait(self) -> None:
        """Wait for all. Raises the error of the one that failed."""
        if self._last is not None:
            self._last.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Wait; raises as `wait` does, unless another error was raised before."""
        self._threads.shutdown(wait=True)
        if error is None:
            self.wait()
