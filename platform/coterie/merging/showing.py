"""Records the progress of a merge, not more often than people can read it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from coterie.child.job import Progress
from coterie.merging import reasons
from coterie.merging.transitions import record_progress

SHOWN_EVERY = timedelta(seconds=0.5)


class Shown:
    """Writes the progress of a worker's merge, at most once in a while."""

    def __init__(self, merge_id: int, lease: UUID, clock: Callable[[], datetime]) -> None:
        self._merge_id, self._lease, self._clock = merge_id, lease, clock
        self._next = clock()

    def show(self, progress: Progress) -> None:
        """Write the progress, or skip it if the last was written just before."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + SHOWN_EVERY
        sentence = f"{progress.stage}, {progress.done} of {progress.total}"
        record_progress(self._merge_id, reasons.distilling(sentence), lease=self._lease, now=now)
