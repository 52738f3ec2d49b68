"""Leases: a worker holds a row for a few seconds at a time, so that its death is noticed and its work taken up."""

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Self

from django.db import DatabaseError, connection

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=6)
HEARTBEAT_S = 1.5
"""Four chances to extend a lease before it ends."""


class Heartbeat:
    """Extends a lease in a thread of its own, as long as the block lasts.

    `extend` tells whether the lease is still ours; once it is not, `lost` is set.
    """

    def __init__(self, extend: Callable[[], bool]) -> None:
        self.lost = threading.Event()
        self._extend = extend
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._done.wait(HEARTBEAT_S):
                try:
                    if not self._extend():
                        self.lost.set()
                        return
                except DatabaseError:
                    logger.warning("a lease could not be extended; trying again", exc_info=True)
        finally:
            connection.close()
