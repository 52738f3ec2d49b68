"""Threads for calls of other programs: few at a time, one for each target, and never a thread of the tasks."""

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)


class TargetThreads:
    """Works for one target at a time in each thread, and for each target in one thread at a time.

    `work` does one piece for a target and returns whether there may be more. Targets take turns, so that a slow one
    delays the others by one piece at most. The threads end when there is nothing to do; they are daemons, as their work
    is found again after a kill anyway.
    """

    def __init__(self, work: Callable[[int], bool], *, at_once: int) -> None:
        self._work = work
        self._at_once = at_once
        self._lock = threading.Lock()
        self._threads = 0
        self._waiting: dict[int, None] = {}  # in the order of their turns
        self._running: set[int] = set()

    def wake(self, target: int) -> None:
        """There may be work for `target`; returns at once."""
        with self._lock:
            self._waiting[target] = None
            if self._threads == self._at_once:
                return
            self._threads += 1
        threading.Thread(target=self._run, name="target", daemon=True).start()

    def _run(self) -> None:
        while (target := self._take()) is not None:
            more = False
            try:
                more = self._work(target)
            except Exception:
                logger.exception("work for target %s failed", target)
            finally:
                self._give_back(target, more)

    def _take(self) -> int | None:
        """The next target; None: this thread is not needed, and is no longer counted."""
        with self._lock:
            target = next((target for target in self._waiting if target not in self._running), None)
            if target is None:
                self._threads -= 1
                return None
            del self._waiting[target]
            self._running.add(target)
            return target

    def _give_back(self, target: int, more: bool) -> None:
        with self._lock:
            self._running.remove(target)
            if more:
                self._waiting.setdefault(target)
