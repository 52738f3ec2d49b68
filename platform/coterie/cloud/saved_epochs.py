"""Epochs from a training's last checkpoint on: it is saved between epochs, and within long ones.

A checkpoint is copied, and training continues while a thread writes it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.checkpoints import Stored, write_checkpoint
from coterie.cloud.course import Batches, Course
from coterie.cloud.epochs import BEGINNING, Aim, EpochsSoFar, TrainingOutcome, run_epochs
from coterie.cloud.pace import CHECKPOINT_S, Pace, PaceCheck
from coterie.cloud.simulation_job import SAVED
from coterie.cloud.writer import Writer
from coterie.evaluation.scoring import Evaluation

STAGE = "training"


class SavedState(NamedTuple):
    """How a training is saved and restored."""

    save: Callable[[Course], bytes]
    """The complete state, including the course's, as a tensor file."""
    restore: Callable[[bytes], Mapping[str, Tensor]]
    """The inverse; returns the course's state."""
    notify: Callable[[PaceCheck], None] = lambda _check: None
    """Notifies other workers that have to save at the same step."""


class Trainee(NamedTuple):
    """What is trained."""

    batches: Batches
    train: Callable[[int, Course], float]
    """An epoch's steps, as the course gives them; returns their mean loss."""
    judge: Callable[[], Evaluation]
    """On the validation samples."""
    state: Callable[[], bytes]
    """The trained state: that of the best epoch is the outcome."""


class Checkpoints(NamedTuple):
    """Where a training is saved, and when."""

    path: Path | None = None
    """None: nowhere."""
    every_s: float = CHECKPOINT_S
    """Seconds between checkpoints within an epoch; 0: after each step."""


UNSAVED = Checkpoints()


def marked_as_saved(progress: Progress) -> Progress:
    """With the figure that says that another attempt can go on from there."""
    return Progress(progress.stage, progress.done, progress.total, {**progress.values, SAVED: 1.0})


def run_saved_epochs(
    trainee: Trainee,
    aim: Aim,
    kept: SavedState,
    report: ReportProgress,
    writer: Writer,
    *,
    checkpoints: Checkpoints,
    stored: Stored | None,
    amended: Callable[[Progress], Progress] = lambda progress: progress,
) -> TrainingOutcome:
    """Train from `stored` on, and keep the best epoch.

    An epoch is reported, as `amended` changes the report, once its checkpoint is durable. Raises Diverged, NotLearning,
    or what `writer` does.
    """
    standing = BEGINNING if stored is None else stored.standing
    pace = Pace(checkpoints.every_s)

    def check(steps: int) -> PaceCheck:
        found = pace.check(steps)
        kept.notify(found)
        return found

    def save() -> None:
        if checkpoints.path is not None:
            writer.wait()  # one checkpoint is written, and one more copied, at a time
            found = Stored(standing, kept.save(course), course.moment.steps)
            writer.then(partial(write_checkpoint, checkpoints.path, found))

    def save_within() -> None:
        save()
        writer.then(partial(report, Progress(STAGE, standing.epochs, aim.epochs, {SAVED: 1.0})))

    course = Course(trainee.batches, check=None if checkpoints.path is None else check, save=save_within)

    def train(epoch: int) -> float:
        pace.begin()
        return trainee.train(epoch, course)

    def keep(found: EpochsSoFar) -> None:
        nonlocal standing
        standing = found
        save()

    if stored is not None:
        course.restore(stored.moment, kept.restore(stored.trainee))
    best = run_epochs(
        aim,
        train=train,
        judge=trainee.judge,
        save=trainee.state,
        report=lambda progress: writer.then(partial(report, amended(progress))),
        begin=standing,
        keep=keep,
    )
    writer.wait()
    return best
