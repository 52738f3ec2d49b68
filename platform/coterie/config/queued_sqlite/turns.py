"""A lock that is handed on in the order in which it was asked for."""

import threading
from collections import deque


class Turns:
    """One holder at a time, which may let go in another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False

    def take(self, *, within_s: float) -> bool:
        """Wait for one's turn; False if it did not come within `within_s` seconds."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            mine = threading.Event()
            self._waiting.append(mine)
        if mine.wait(within_s):
            return True
        with self._lock:
            if mine.is_set():  # it came while we turned away
                return True
            self._waiting.remove(mine)
            return False

    def give(self) -> None:
        """Hand the turn to whoever has waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False

    def count_waiting(self) -> int:
        """How many wait."""
        with self._lock:
            return len(self._waiting)
