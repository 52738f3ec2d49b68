"""Epochs over a data set with a part held back, that stop when that part no longer improves."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.errors import Diverged
from coterie.evaluation.scoring import Evaluation


class Split(NamedTuple):
    """Rows to train on, and rows held back to judge by."""

    training: NDArray[np.int64]
    validation: NDArray[np.int64]


class Best(msgspec.Struct, frozen=True):
    """The best epoch so far, as judged by the rows held back."""

    state: bytes
    evaluation: Evaluation


class Standing(msgspec.Struct, frozen=True):
    """Where training stands between two epochs."""

    epochs: int = 0
    """How many were run."""
    waited: int = 0
    """How many of them since the best."""
    best: Best | None = None


class Outcome(NamedTuple):
    """What training came to."""

    state: bytes
    """Of the best epoch."""
    epochs: int
    """How many were run."""
    evaluation: Evaluation


BEGINNING = Standing()


def split(samples: int, *, share: float, seed: int) -> Split:
    """Hold back `share` of `samples`, at least one if there are two; a single sample is both."""
    order = np.random.default_rng(seed).permutation(samples).astype(np.int64)
    held = min(max(1, round(samples * share)), samples - 1)
    return Split(order[held:], order[:held]) if held else Split(order, order)


def batches(rows: NDArray[np.int64], *, size: int, generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """The rows in a new order, `size` at a time; the last batch may be smaller."""
    order = generator.permutation(rows)
    for start in range(0, len(order), size):
        yield order[start : start + size]


def run_epochs(
    *,
    epochs: int,
    patience: int,
    train: Callable[[int], float],
    judge: Callable[[], Evaluation],
    save: Callable[[], bytes],
    report: ReportProgress,
    best_by: Literal["accuracy", "loss"] = "accuracy",
    begin: Standing = BEGINNING,
    keep: Callable[[Standing], None] = lambda _standing: None,
) -> Outcome:
    """`train` epoch after epoch (from 0), `judge` each, keep the best; stop after `patience` epochs without a better.

    `begin` is what `keep` was told before an interruption. Raises Diverged.
    """
    standing = begin
    while standing.epochs < epochs and (standing.epochs == 0 or standing.waited < patience):
        loss = train(standing.epochs)
        found = judge()
        done = standing.epochs + 1
        if not np.isfinite(loss) or not np.isfinite(found.loss):
            raise Diverged(epoch=done)
        if standing.best is None or _rank(found, best_by) > _rank(standing.best.evaluation, best_by):
            standing = Standing(done, 0, Best(save(), found))
        else:
            standing = Standing(done, standing.waited + 1, standing.best)
        keep(standing)
        values = {"loss": loss, "validation_loss": found.loss}
        if found.accuracy is not None:
            values["validation_accuracy"] = found.accuracy
        report(Progress("training", done, epochs, values))
    assert standing.best is not None, "at least one epoch is run"
    return Outcome(standing.best.state, standing.epochs, standing.best.evaluation)


def _rank(evaluation: Evaluation, best_by: Literal["accuracy", "loss"]) -> tuple[float, float]:
    """Accuracy before loss: on few samples, the loss mostly tells how sure a model is of its mistakes."""
    accuracy = evaluation.accuracy if best_by == "accuracy" else None
    return accuracy or 0.0, -evaluation.loss
