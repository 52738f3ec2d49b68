"""How training in the cloud fails."""

from coterie.child.errors import DiskFull, OutOfMemory, OutOfTime
from coterie.core.errors import CoterieError, ErrorKind


class Diverged(CoterieError):
    """Fields: epoch."""

    code = "training.diverged"
    kind = ErrorKind.INVALID
    sentence = "The loss was no longer finite in epoch {epoch}: use a smaller learning rate."


class NotLearning(CoterieError):
    """Fields: epoch, detail."""

    code = "training.not_learning"
    kind = ErrorKind.INVALID
    sentence = "It was ended in epoch {epoch}, because {detail}: use a smaller learning rate."


class CannotSplit(CoterieError):
    """Fields: problem."""

    code = "training.cannot_split"
    kind = ErrorKind.INVALID
    sentence = "The cloud model does not suit this strategy: {problem}."


class WorkersDied(CoterieError):
    """Fields: worker, times, output (its last words)."""

    code = "training.workers_died"
    kind = ErrorKind.UNAVAILABLE
    sentence = "Worker {worker} died {times} times before an epoch was done: {output}"


OF_WORKERS = (CannotSplit, WorkersDied, OutOfMemory, OutOfTime, DiskFull)
"""How workers of a job fail it."""
