"""Epochs over a data set with a part held back, that stop when that part no longer improves."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.learning.child.job import Progress, ReportProgress
from coterie.learning.cloud.errors import Diverged
from coterie.learning.evaluate import Evaluation


class Split(NamedTuple):
    """Rows to train on, and rows held back to judge by."""

    training: NDArray[np.int64]
    validation: NDArray[np.int64]


class Best(NamedTuple):
    """The best epoch, as judged by the rows held back."""

    state: bytes
    epochs: int
    """How many were run."""
    evaluation: Evaluation


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
    train: Callable[[], float],
    judge: Callable[[], Evaluation],
    save: Callable[[], bytes],
    report: ReportProgress,
) -> Best:
    """`train` an epoch, `judge` it, keep the best; stop after `patience` epochs without a better one.

    Raises Diverged.
    """
    best: Best | None = None
    waited = 0
    for epoch in range(1, epochs + 1):
        loss = train()
        found = judge()
        if not np.isfinite(loss) or not np.isfinite(found.loss):
            raise Diverged(epoch=epoch)
        values = {"loss": loss, "validation_loss": found.loss, "validation_accuracy": found.accuracy}
        report(Progress("training", epoch, epochs, values))
        if best is None or _rank(found) > _rank(best.evaluation):
            best, waited = Best(save(), epoch, found), 0
        else:
            waited += 1
        best = best._replace(epochs=epoch)
        if waited >= patience:
            break
    assert best is not None, "at least one epoch is run"
    return best


def _rank(evaluation: Evaluation) -> tuple[float, float]:
    """Accuracy before loss: on few samples, the loss mostly tells how sure a model is of its mistakes."""
    return evaluation.accuracy, -evaluation.loss
