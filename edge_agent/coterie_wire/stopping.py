"""Early stopping: the best epoch so far, and how long nothing better has come; its state survives in a checkpoint."""

import math

import msgspec

from coterie_wire.local import Stopping


class Watched(msgspec.Struct, frozen=True):
    """Where early stopping stands."""

    best_loss: float = math.inf
    """Lowest loss on the samples held back."""
    waited: int = 0
    """Epochs since it was reached."""


class Judged(msgspec.Struct, frozen=True):
    """What an epoch's loss means."""

    watched: Watched
    is_best: bool
    """These parameters are the ones to keep."""
    stop: bool


def judge_epoch(watched: Watched, loss: float, stopping: Stopping) -> Judged:
    """The state after an epoch whose loss on the samples held back is `loss`; one that is not finite is no best."""
    if loss < watched.best_loss:
        return Judged(Watched(loss, 0), is_best=True, stop=False)
    waited = watched.waited + 1
    return Judged(Watched(watched.best_loss, waited), is_best=False, stop=waited >= stopping.patience)
