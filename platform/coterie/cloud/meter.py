"""Measures how long messages are in flight between the workers of a training."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class Meter:
    """Seconds in which at least one message was in flight."""

    def __init__(self) -> None:
        self._lock, self._under_way, self._since, self._total = Lock(), 0, 0.0, 0.0

    def begin(self) -> None:
        """A message is sent."""
        with self._lock:
            if self._under_way == 0:
                self._since = time.perf_counter()
            self._under_way += 1

    def end(self) -> None:
        """It has arrived."""
        with self._lock:
            self._under_way -= 1
            if self._under_way == 0:
                self._total += time.perf_counter() - self._since

    @contextmanager
    def running(self) -> Iterator[None]:
        """A message is in flight within the block."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """This thread communicates within the block, and waits for others whenever it does not compute."""
        begun, computed = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            waited = time.perf_counter() - begun - (time.thread_time() - computed)
            with self._lock:
                self._total += max(0.0, waited)

    def read(self) -> float:
        """The seconds since the last call."""
        with self._lock:
            total, self._total = self._total, 0.0
        return total
