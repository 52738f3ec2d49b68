"""The epochs of a cloud model's training from its last checkpoint on, with what they tell of their speed."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.bootstrap_job import BootstrapResult
from coterie.cloud.checkpoints import Stored, read_checkpoint, write_checkpoint
from coterie.cloud.epochs import BEGINNING, EpochsSoFar, run_epochs
from coterie.cloud.learner import Learner

CHECKPOINT = "training"


class Epoch(NamedTuple):
    """What an epoch came to."""

    loss: float
    """Mean over its steps."""
    communication_s: float = 0.0
    """Seconds in which something was on its way between workers, or a worker waited for others."""
    sent_bytes: int = 0
    """What one worker gave to the others."""


class Kept(NamedTuple):
    """How a strategy's training is saved and restored."""

    save: Callable[[], bytes]
    """Everything that the next epoch depends on, as a tensor file."""
    restore: Callable[[bytes], None]


def stored_epochs(directory: str | None) -> Stored | None:
    """The last checkpoint in `directory`; None: there is none, and training begins anew."""
    return None if directory is None else read_checkpoint(Path(directory, CHECKPOINT))


def train_epochs(
    learner: Learner,
    train: Callable[[int], Epoch],
    kept: Kept,
    report: ReportProgress,
    *,
    stored: Stored | None,
    workers: int = 1,
) -> BootstrapResult:
    """`train` epoch after epoch after the one that is `stored`, write a checkpoint after each, and keep the best.

    Raises Diverged.
    """
    arguments = learner.arguments
    samples, last, seconds = len(learner.rows.training), Epoch(0.0), 1.0

    def timed(epoch: int) -> float:
        nonlocal last, seconds
        begun = time.perf_counter()
        last = train(epoch)
        seconds = max(time.perf_counter() - begun, 1e-9)
        return last.loss

    def keep(standing: EpochsSoFar) -> None:
        if arguments.checkpoints is not None:
            write_checkpoint(Path(arguments.checkpoints, CHECKPOINT), Stored(standing, kept.save()))

    def told(progress: Progress) -> None:
        speed: Mapping[str, float] = {
            "samples_per_second": samples / seconds,
            "communication_share": min(1.0, last.communication_s / seconds),
            "sent_bytes": last.sent_bytes,
            "workers": workers,
        }
        report(Progress(progress.stage, progress.done, progress.total, {**progress.values, **speed}))

    if stored is not None:
        kept.restore(stored.trainee)
    best = run_epochs(
        epochs=arguments.epochs,
        patience=arguments.patience,
        least_gain=arguments.least_gain,
        train=timed,
        judge=learner.judge,
        save=learner.cloud.save,
        report=told,
        begin=BEGINNING if stored is None else stored.standing,
        keep=keep,
    )
    return learner.conclude(best)
