"""A device's newest data as counts: the samples of each class, and how many the model predicted wrongly.

Errors are counted before the model trains on a batch (prequential evaluation: Gama et al. 2013, doi
10.1007/s10994-012-5320-9), since drift would not be visible afterwards.
"""

from typing import Annotated, Self, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

Float64: TypeAlias = NDArray[np.float64]
Int64: TypeAlias = NDArray[np.int64]
Whole = Annotated[int, Meta(ge=0, le=2**53)]


class ClassCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Counts of one class in one batch."""

    label: Whole
    samples: Whole
    wrong: Whole


BatchCounts: TypeAlias = tuple[ClassCount, ...]
"""The classes of one batch, in the order of their labels."""


class Counts(msgspec.Struct, frozen=True):
    """Samples and wrong predictions by class, int64 [classes] each."""

    samples: Int64
    wrong: Int64

    @property
    def error(self) -> float:
        """Share of all samples that were wrong; 0 where there are none."""
        total = int(self.samples.sum())
        return int(self.wrong.sum()) / total if total else 0.0

    def prior(self) -> Float64:
        """Share of each class [classes]; zeros where there are no samples."""
        return self.samples / max(1, int(self.samples.sum()))

    def recall(self) -> Float64:
        """Recall of each class [classes]; NaN for a class without samples."""
        found = np.full(len(self.samples), np.nan)
        np.divide(self.samples - self.wrong, self.samples, out=found, where=self.samples > 0)
        return found

    def troubled(self, *, below: float, samples: int) -> tuple[int, ...]:
        """Classes with at least `samples` samples and a recall under `below`."""
        enough = self.samples >= samples
        return tuple(np.flatnonzero(enough & (self.samples - self.wrong < below * self.samples)).tolist())


class ClassProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts of the newest batches, from the oldest to the newest; memory follows the classes that occur in them."""

    classes: Annotated[int, Meta(ge=2)]
    keep: Annotated[int, Meta(ge=1)]
    """Number of batches."""
    batches: tuple[BatchCounts, ...] = ()

    def observe(self, labels: Int64, predicted: Int64) -> Self:
        """The profile after a batch of true `labels` [n] that the model predicted as `predicted` [n].

        Raises ValueError for an empty batch or labels outside the classes.
        """
        if not len(labels) or labels.min() < 0 or labels.max() >= self.classes:
            raise ValueError(f"a batch needs samples, of classes 0 to {self.classes - 1}")
        found, index, samples = np.unique(labels, return_inverse=True, return_counts=True)
        wrong = np.bincount(index, weights=labels != predicted, minlength=len(found))
        rows = zip(found.tolist(), samples.tolist(), wrong.astype(np.int64).tolist(), strict=True)
        batch = tuple(ClassCount(*row) for row in rows)
        return msgspec.structs.replace(self, batches=(*self.batches, batch)[-self.keep :])

    def counts(self, batches: int) -> Counts:
        """Counts of the newest `batches` batches, or of all where there are fewer."""
        return self._sum(self.batches[-batches:])

    def before(self, batches: int) -> Counts:
        """Counts of the batches older than the newest `batches`."""
        return self._sum(self.batches[:-batches])

    def _sum(self, chosen: tuple[BatchCounts, ...]) -> Counts:
        counts = Counts(np.zeros(self.classes, np.int64), np.zeros(self.classes, np.int64))
        for batch in chosen:
            for found in batch:
                counts.samples[found.label] += found.samples
                counts.wrong[found.label] += found.wrong
        return counts


def jensen_shannon(p: Float64, q: Float64) -> float:
    """Jensen-Shannon divergence of two distributions [classes], in bits: 0 where they are equal, 1 where disjoint.

    Lin 1991, doi 10.1109/18.61115. An empty distribution (all zeros) has divergence 1 from any other.
    """
    if not p.any() or not q.any():
        return 0.0 if not p.any() and not q.any() else 1.0
    middle = (p + q) / 2
    divergence = (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2
    return min(1.0, max(0.0, divergence))


def _relative_entropy(p: Float64, of: Float64) -> float:
    """In bits; `of` is positive wherever `p` is."""
    there = p > 0
    return float(np.sum(p[there] * np.log2(p[there] / of[there])))
