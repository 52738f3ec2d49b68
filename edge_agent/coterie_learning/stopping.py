"""Early stopping: the best epoch so far, and the epochs since; its state is stored in checkpoints."""

import math

import msgspec

from coterie_learning.local import Stopping


class Watched(msgspec.Struct, frozen=True):
    """The state of early stopping."""

    epochs: int = 0
    """Epochs that were evaluated."""
    best_loss: float | None = None
    """Lowest loss on the validation samples; None before there is one."""
    waited: int = 0
    """Epochs since the lowest loss."""


class StoppingDecision(msgspec.Struct, frozen=True):
    """The decision after an epoch."""

    watched: Watched
    is_best: bool
    """Whether these parameters are the best so far."""
    stop: bool


def is_over(watched: Watched, stopping: Stopping) -> bool:
    """Whether training ends, because the loss has not improved for long enough."""
    return watched.waited >= stopping.patience


def judge_epoch(watched: Watched, loss: float, stopping: Stopping) -> StoppingDecision:
    """The state after an epoch with `loss` on the validation samples; a loss that is not finite is never the best."""
    epochs = watched.epochs + 1
    if math.isfinite(loss) and (watched.best_loss is None or loss < watched.best_loss):
        return StoppingDecision(Watched(epochs, loss, 0), is_best=True, stop=False)
    next_ = Watched(epochs, watched.best_loss, watched.waited + 1)
    return StoppingDecision(next_, is_best=False, stop=is_over(next_, stopping))
