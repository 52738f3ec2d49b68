"""Epochs over a data set with a validation part, with early stopping."""

import math
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.early_end import early_end
from coterie.cloud.errors import Diverged, NotLearning
from coterie.evaluation.datasets import Targets
from coterie.evaluation.scoring import Evaluation

Rows = NDArray[np.int64]
"""Indices of samples."""


class RowSplit(NamedTuple):
    """Rows to train on, and rows for validation."""

    training: Rows
    validation: Rows


class Aim(NamedTuple):
    """When a training is done, and which epoch is its best."""

    epochs: int
    patience: int
    """Epochs that are not better and have no smaller loss, after which it stops."""
    least_gain: float = 0.0
    """Share of its least loss that the loss curve must promise, or it stops (`early_end`)."""
    best_by: Literal["accuracy", "loss"] = "accuracy"


class Moment(NamedTuple):
    """A point in a training."""

    epochs: int = 0
    """How many epochs are done."""
    steps: int = 0
    """How many steps of the next epoch are done."""

    def __str__(self) -> str:
        return f"{self.epochs}+{self.steps}" if self.steps else str(self.epochs)


class Best(msgspec.Struct, frozen=True):
    """The best epoch so far, by the validation rows."""

    state: bytes
    evaluation: Evaluation


class EpochsSoFar(msgspec.Struct, frozen=True):
    """The state of training between two epochs."""

    epochs: int = 0
    """How many were run."""
    waited: int = 0
    """How many of them since the best, or the one of least loss."""
    best: Best | None = None
    least_loss: float = math.inf
    """On the validation samples."""
    losses: tuple[float, ...] = ()
    """On the training samples, of each epoch."""


class TrainingOutcome(NamedTuple):
    """The result of training."""

    state: bytes
    """Of the best epoch."""
    epochs: int
    """How many were run."""
    evaluation: Evaluation
    ended: str | None
    """Why it stopped early because of its loss curve; None: it did not."""


BEGINNING = EpochsSoFar()


FEWEST = 50
"""Validation samples; of fewer, an accuracy is uncertain by 7 % and more."""


def split(labels: Targets, *, share: float, seed: int) -> RowSplit:
    """Hold back `share` of the samples with these `labels` for validation, at least one if there are two; a single
    sample is both.

    The split is stratified by class, and where there is a share, each class of two samples or more has at least one.
    """
    order = np.random.default_rng(seed).permutation(len(labels)).astype(np.int64)
    held = _of_classes(labels[order], share) if _are_classes(labels) and share else np.zeros(len(labels), np.bool_)
    if not held.any():
        held[: min(max(1, round(len(labels) * share)), len(labels) - 1)] = True
    return RowSplit(order[~held], order[held]) if held.any() else RowSplit(order, order)


def _are_classes(labels: Targets) -> bool:
    return labels.ndim == 1 and np.issubdtype(labels.dtype, np.integer)


def _of_classes(labels: Targets, share: float) -> NDArray[np.bool_]:
    """The validation samples: the first ones of each class."""
    held = np.zeros(len(labels), np.bool_)
    for label in np.unique(labels):
        (rows,) = np.nonzero(labels == label)
        held[rows[: min(max(1, round(len(rows) * share)), len(rows) - 1)]] = True
    return held


def too_few_held_back(labels: Targets, held_back: Targets) -> str | None:
    """Why the validation samples `held_back` of those with `labels` are too few, for people; None where they are
    enough.
    """
    doubts = []
    if len(held_back) < FEWEST:
        doubts.append(f"{len(held_back)} samples were held back, too few to tell one epoch from the next")
    if _are_classes(labels) and (missing := len(np.setdiff1d(labels, held_back))):
        doubts.append(f"{missing} classes have a single sample, and none held back")
    return "; ".join([*doubts, "give more samples, and judge by held-out data"]) if doubts else None


def batches(rows: Rows, *, size: int, generator: np.random.Generator) -> Iterator[Rows]:
    """The rows in random order, `size` at a time; the last batch may be smaller."""
    order = generator.permutation(rows)
    for start in range(0, len(order), size):
        yield order[start : start + size]


def run_epochs(
    aim: Aim,
    *,
    train: Callable[[int], float],
    judge: Callable[[], Evaluation],
    save: Callable[[], bytes],
    report: ReportProgress,
    begin: EpochsSoFar = BEGINNING,
    keep: Callable[[EpochsSoFar], None] = lambda _standing: None,
) -> TrainingOutcome:
    """`train` epoch after epoch (from 0), `judge` each, keep the best.

    `begin` is the last argument of `keep` before an interruption. Raises Diverged or NotLearning.
    """
    epochs, patience, least_gain, best_by = aim
    standing, ending = begin, early_end(begin.losses, epochs, least_gain)
    while standing.epochs < epochs and (standing.epochs == 0 or standing.waited < patience) and ending is None:
        loss = train(standing.epochs)
        found = judge()
        done = standing.epochs + 1
        if not np.isfinite(loss) or not np.isfinite(found.loss):
            raise Diverged(epoch=done)
        is_best = standing.best is None or _rank(found, best_by) > _rank(standing.best.evaluation, best_by)
        # The accuracy on few samples moves in steps; while the loss falls, the model still learns.
        waited = 0 if is_best or found.loss < standing.least_loss else standing.waited + 1
        best = Best(save(), found) if is_best else standing.best
        losses = (*standing.losses, loss)
        standing = EpochsSoFar(done, waited, best, min(found.loss, standing.least_loss), losses)
        keep(standing)
        values = {"loss": loss, "validation_loss": found.loss}
        if found.accuracy is not None:
            values["validation_accuracy"] = found.accuracy
        report(Progress("training", done, epochs, values))
        ending = early_end(losses, epochs, least_gain)
    if ending is not None and ending.kind == "failed":
        raise NotLearning(epoch=standing.epochs, detail=ending.sentence)
    assert standing.best is not None, "at least one epoch is run"
    ended = None if ending is None else ending.sentence
    return TrainingOutcome(standing.best.state, standing.epochs, standing.best.evaluation, ended)


def _rank(evaluation: Evaluation, best_by: Literal["accuracy", "loss"]) -> tuple[float, float]:
    """Accuracy before loss: on few samples, the loss mostly measures how confident a model is in its mistakes."""
    accuracy = evaluation.accuracy if best_by == "accuracy" else None
    return accuracy or 0.0, -evaluation.loss
