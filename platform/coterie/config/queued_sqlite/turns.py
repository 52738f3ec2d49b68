"""A fair lock: it is granted in the order of requests."""

import threading
from collections import deque


class Turns:
    """One holder at a time; another thread may release it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False

    def take(self, *, within_s: float) -> bool:
        """Wait for the lock; False if it was not granted within `within_s` seconds."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            mine = threading.Event()
            self._waiting.append(mine)
        if mine.wait(within_s):
            return True
        with self._lock:
            if mine.is_set():  # it was granted after the timeout
                return True
            self._waiting.remove(mine)
            return False

    def give(self) -> None:
        """Pass the lock to the longest waiting thread."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False

    def count_waiting(self) -> int:
        """The number of waiting threads."""
        with self._lock:
            return len(self._waiting)
