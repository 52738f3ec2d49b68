"""Which samples each device has: divided among devices, or drawn on demand with replacement."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.splits import Float64, Int64
from coterie_learning.random import random_bytes

_WORD_BYTES = 8


class Population(Protocol):
    """The samples of all devices."""

    @property
    def sizes(self) -> Int64:
        """Number of samples of each device."""

    def rows(self, device: int) -> Int64:
        """Rows of the samples of `device`, in the order of their numbers on it."""

    def rows_of(self, devices: Sequence[int]) -> Sequence[Int64]:
        """`rows` of each device."""


@dataclass(frozen=True, eq=False)
class Divided:
    """Each sample belongs to one device."""

    ends: Int64
    """[devices]: end of each device's samples in `order`."""
    order: Int64
    """Rows of the samples, grouped by device, ascending."""

    @classmethod
    def by(cls, owners: Int64, *, devices: int) -> "Divided":
        """`owners` are the devices of the samples; -1: none."""
        order = np.argsort(owners, kind="stable").astype(np.int64)
        counts = np.bincount(owners[owners >= 0], minlength=devices)
        return cls(np.cumsum(counts), order[(owners < 0).sum() :])

    @property
    def sizes(self) -> Int64:
        return np.diff(self.ends, prepend=0)

    def rows(self, device: int) -> Int64:
        return self.order[self.ends[device - 1] if device else 0 : self.ends[device]]

    def rows_of(self, devices: Sequence[int]) -> Sequence[Int64]:
        return [self.rows(device) for device in devices]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Each device draws the same number of samples with replacement, reproducibly; nothing is stored.

    The draw is a function of seed and device, by `coterie_learning.random`.
    """

    cumulative: Float64
    """[devices, classes]: cumulative shares of the classes on each device."""
    labels: Int64
    """The classes of all samples."""
    each: int
    seed: int

    @classmethod
    def from_mixes(cls, mixes: Float64, labels: Int64, *, each: int, seed: int) -> "Drawn":
        """Raises DoesNotFit where a class has no sample to be drawn."""
        counts = np.bincount(labels, minlength=mixes.shape[1])
        if (mixes[:, counts == 0] > 0).any():
            raise DoesNotFit(detail="some classes of the split have no samples")
        cumulative = np.cumsum(mixes, axis=1)
        return cls(cumulative / cumulative[:, -1:], labels, each, seed)

    @property
    def sizes(self) -> Int64:
        return np.full(len(self.cumulative), self.each, np.int64)

    def rows(self, device: int) -> Int64:
        return self.rows_of([device])[0]

    def rows_of(self, devices: Sequence[int]) -> Sequence[Int64]:
        size = 2 * _WORD_BYTES * self.each
        drawn = b"".join([random_bytes(size, self.seed, "samples", device) for device in devices])
        uniform = (np.frombuffer(drawn, "<u8").reshape(len(devices), -1) >> np.uint64(11)) * 2.0**-53
        kinds, places = uniform[:, : self.each], uniform[:, self.each :]
        cumulative = self.cumulative[np.asarray(devices)]
        classes = np.stack([one.searchsorted(of, side="right") for one, of in zip(cumulative, kinds, strict=True)])
        by_class, counts, starts = _by_class(self)
        rows: Int64 = by_class[starts[classes] + (places * counts[classes]).astype(np.int64)]
        return list(rows)


@lru_cache(maxsize=4)
def _by_class(drawn: Drawn) -> tuple[Int64, Int64, Int64]:
    """Rows by class, how many each class has, and where it starts."""
    counts = np.bincount(drawn.labels, minlength=drawn.cumulative.shape[1])
    return np.argsort(drawn.labels, kind="stable"), counts, np.cumsum(counts) - counts
