"""Early stopping: the best epoch so far, and how long nothing better has come; its state survives in a checkpoint."""

import math

import msgspec

from coterie_learning.local import Stopping


class Watched(msgspec.Struct, frozen=True):
    """Where early stopping stands."""

    epochs: int = 0
    """How many were judged."""
    best_loss: float | None = None
    """Lowest loss on the samples held back; None before there is one."""
    waited: int = 0
    """Epochs since it was reached."""


class Judged(msgspec.Struct, frozen=True):
    """What an epoch's loss means."""

    watched: Watched
    is_best: bool
    """These parameters are the ones to keep."""
    stop: bool


def is_over(watched: Watched, stopping: Stopping) -> bool:
    """Whether nothing better has come for so long that training ends."""
    return watched.waited >= stopping.patience


def judge_epoch(watched: Watched, loss: float, stopping: Stopping) -> Judged:
    """The state after an epoch whose loss on the samples held back is `loss`; one that is not finite is no best."""
    epochs = watched.epochs + 1
    if math.isfinite(loss) and (watched.best_loss is None or loss < watched.best_loss):
        return Judged(Watched(epochs, loss, 0), is_best=True, stop=False)
    next_ = Watched(epochs, watched.best_loss, watched.waited + 1)
    return Judged(next_, is_best=False, stop=is_over(next_, stopping))
