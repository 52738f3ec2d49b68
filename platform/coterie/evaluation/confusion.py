"""How often a classifier mistakes one class for another, from its answers to labelled samples."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie_wire.tensors import Float32

MOST_MISTAKES = 110
"""Pairs of classes that are stored: all of eleven classes, of more those with most samples."""


class Mistake(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Samples of one class that were taken for another; both by their place among the labels."""

    actual: int
    predicted: int
    samples: int


class Confusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A confusion matrix without its diagonal, most frequent mistakes first."""

    samples: tuple[int, ...]
    """Of each class."""
    mistakes: tuple[Mistake, ...]
    """`MOST_MISTAKES` at most."""
    others: int
    """Samples whose mistakes are not among these."""


def confusion_of(output: Float32, labels: NDArray[np.int64]) -> Confusion:
    """Of a classifier's `output` [n, classes] against `labels` [n]."""
    classes = output.shape[1]
    predicted = output.argmax(axis=1)
    wrong = labels != predicted
    pairs, counts = np.unique(labels[wrong] * classes + predicted[wrong], return_counts=True)
    ordered = np.lexsort((pairs, -counts))[:MOST_MISTAKES]
    return Confusion(
        samples=tuple(np.bincount(labels, minlength=classes).tolist()),
        mistakes=tuple(
            Mistake(int(pair) // classes, int(pair) % classes, int(count))
            for pair, count in zip(pairs[ordered], counts[ordered], strict=True)
        ),
        others=int(counts.sum() - counts[ordered].sum()),
    )
