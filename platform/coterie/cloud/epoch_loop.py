"""The epochs of a cloud model's training from its last checkpoint on, with what they tell of their speed."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.bootstrap_job import BootstrapResult
from coterie.cloud.checkpoints import Stored, read_checkpoint, write_checkpoint
from coterie.cloud.course import Course
from coterie.cloud.epochs import BEGINNING, EpochsSoFar, run_epochs
from coterie.cloud.learner import Learner
from coterie.cloud.pace import Look, Pace
from coterie.cloud.simulation_job import SAVED
from coterie.cloud.writer import Writer

CHECKPOINT = "training"
STAGE = "training"


class Epoch(NamedTuple):
    """What an epoch came to."""

    loss: float
    """Mean over its steps."""
    communication_s: float = 0.0
    """Seconds in which something was on its way between workers, or a worker waited for others."""
    sent_bytes: int = 0
    """What one worker gave to the others."""


Train = Callable[[int, Course], Epoch]
"""An epoch's steps, as the course gives them."""


class Kept(NamedTuple):
    """How a strategy's training is saved and restored."""

    save: Callable[[Course], bytes]
    """Everything that the rest depends on, what the course remembers included, as a tensor file."""
    restore: Callable[[bytes], Mapping[str, Tensor]]
    """The inverse; gives what the course remembers."""
    tell: Callable[[Look], None] = lambda _look: None
    """Whoever else has to save at the same step."""


def stored_epochs(directory: str | None) -> Stored | None:
    """The last checkpoint in `directory`; None: there is none, and training begins anew."""
    return None if directory is None else read_checkpoint(Path(directory, CHECKPOINT))


def train_epochs(
    learner: Learner,
    train: Train,
    kept: Kept,
    report: ReportProgress,
    writer: Writer,
    *,
    stored: Stored | None,
    workers: int = 1,
) -> BootstrapResult:
    """`train` from what is `stored` on, and keep the best epoch.

    A checkpoint is written after each epoch, and within one where the last was written long ago. It is copied, and
    training goes on while `writer` writes it; an epoch is reported once its checkpoint is on the disk. Raises Diverged,
    or what `writer` does.
    """
    arguments = learner.arguments
    standing = BEGINNING if stored is None else stored.standing
    pace = Pace(arguments.checkpoint_s)
    last, seconds = Epoch(0.0), 1.0

    def look(steps: int) -> Look:
        found = pace.look(steps)
        kept.tell(found)
        return found

    def save() -> None:
        if arguments.checkpoints is not None:
            writer.wait()  # one checkpoint is written, and one more copied, at a time
            found = Stored(standing, kept.save(course), course.moment.steps)
            writer.then(partial(write_checkpoint, Path(arguments.checkpoints, CHECKPOINT), found))

    def save_within() -> None:
        save()
        writer.then(partial(report, Progress(STAGE, standing.epochs, arguments.epochs, {SAVED: 1.0})))

    course = Course(learner, look=None if arguments.checkpoints is None else look, save=save_within)

    def timed(epoch: int) -> float:
        nonlocal last, seconds
        pace.begin()
        begun = time.perf_counter()
        last = train(epoch, course)
        seconds = max(time.perf_counter() - begun, 1e-9)
        return last.loss

    def keep(found: EpochsSoFar) -> None:
        nonlocal standing
        standing = found
        save()

    def told(progress: Progress) -> None:
        speed: Mapping[str, float] = {
            "samples_per_second": course.samples / seconds,
            "communication_share": min(1.0, last.communication_s / seconds),
            "sent_bytes": last.sent_bytes,
            "workers": workers,
        }
        found = Progress(progress.stage, progress.done, progress.total, {**progress.values, **speed})
        writer.then(partial(report, found))

    if stored is not None:
        course.restore(stored.moment, kept.restore(stored.trainee))
    best = run_epochs(
        epochs=arguments.epochs,
        patience=arguments.patience,
        least_gain=arguments.least_gain,
        train=timed,
        judge=learner.judge,
        save=learner.cloud.save,
        report=told,
        begin=standing,
        keep=keep,
    )
    writer.wait()
    return learner.conclude(best)
