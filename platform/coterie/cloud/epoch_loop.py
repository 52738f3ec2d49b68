"""The epochs of a cloud model's training from its last checkpoint on, reported with their speed."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.bootstrap_job import BootstrapResult
from coterie.cloud.checkpoints import Stored, read_checkpoint
from coterie.cloud.course import Course
from coterie.cloud.epochs import Aim
from coterie.cloud.learner import Learner
from coterie.cloud.saved_epochs import Checkpoints, SavedState, Trainee, run_saved_epochs
from coterie.cloud.writer import Writer

CHECKPOINT = "training"


class Epoch(NamedTuple):
    """The result of one epoch."""

    loss: float
    """Mean over its steps."""
    communication_s: float = 0.0
    """Seconds in which a message was in flight between workers, or a worker waited for others."""
    sent_bytes: int = 0
    """Bytes that one worker sent to the others."""


Train = Callable[[int, Course], Epoch]
"""An epoch's steps, as the course gives them."""


def stored_epochs(directory: str | None) -> Stored | None:
    """The last checkpoint in `directory`; None: there is none, and training starts from the beginning."""
    return None if directory is None else read_checkpoint(Path(directory, CHECKPOINT))


def train_epochs(
    learner: Learner,
    train: Train,
    kept: SavedState,
    report: ReportProgress,
    writer: Writer,
    *,
    stored: Stored | None,
    workers: int = 1,
) -> BootstrapResult:
    """`train` from `stored` on, and keep the best epoch. Raises what `run_saved_epochs` does."""
    arguments = learner.arguments
    last, seconds, samples = Epoch(0.0), 1.0, 0

    def timed(epoch: int, course: Course) -> float:
        nonlocal last, seconds, samples
        begun = time.perf_counter()
        last = train(epoch, course)
        seconds, samples = max(time.perf_counter() - begun, 1e-9), course.samples
        return last.loss

    def with_speed(progress: Progress) -> Progress:
        speed: Mapping[str, float] = {
            "samples_per_second": samples / seconds,
            "communication_share": min(1.0, last.communication_s / seconds),
            "sent_bytes": last.sent_bytes,
            "workers": workers,
        }
        return Progress(progress.stage, progress.done, progress.total, {**progress.values, **speed})

    path = None if arguments.checkpoints is None else Path(arguments.checkpoints, CHECKPOINT)
    best = run_saved_epochs(
        Trainee(learner.batches, timed, learner.judge, learner.cloud.save),
        Aim(arguments.epochs, arguments.patience, arguments.least_gain),
        kept,
        report,
        writer,
        checkpoints=Checkpoints(path, arguments.checkpoint_s),
        stored=stored,
        amended=with_speed,
    )
    return learner.conclude(best)
