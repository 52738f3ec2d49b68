"""How training in the cloud fails."""

from coterie.child.errors import DiskFull, OutOfMemory, OutOfTime
from coterie.core.errors import CoterieError, ErrorKind


class Diverged(CoterieError):
    """Fields: epoch."""

    code = "training.diverged"
    kind = ErrorKind.INVALID
    sentence = "The loss was no longer finite in epoch {epoch}: use a smaller learning rate."


class WorkersDied(CoterieError):
    """Fields: worker, times, output (its last words)."""

    code = "training.workers_died"
    kind = ErrorKind.UNAVAILABLE
    sentence = "Worker {worker} died {times} times before an epoch was done: {output}"


OF_WORKERS = (WorkersDied, OutOfMemory, OutOfTime, DiskFull)
"""How workers of a job fail it."""
