"""Logical neighbours: devices with data similar to a requesting device's, and with good accuracy where it fails.

Cartel's metadata service (Daga et al. 2019, doi 10.1145/3357223.3362708). The search is exact.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.help import MatchRules
from coterie_learning.profile import Counts, Float64
from coterie_learning.unmatched import UnmatchedTensors

_FEWEST = 64
"""Initial capacity in devices."""
_BLOCK = 4096
"""Devices whose divergence is computed at once, so that the data stay in the processor's cache."""
_SMALLEST = np.float32(1e-30)
"""Keeps the logarithm of a share of 0 finite; multiplied by that share it gives 0."""


class Neighbour(NamedTuple):
    """A potential helper."""

    counts: Counts
    """Its metadata: samples and wrong predictions by class."""
    drifting: bool = False
    serving: int = 0
    """Number of requests that it is serving."""
    willing: bool = True
    """Whether its owner lets it help."""


class Match(NamedTuple):
    """A device that can help."""

    device: str
    divergence: float
    """Jensen-Shannon divergence of both devices' class shares, in bits."""


class Wanted(NamedTuple):
    """The data of a help request."""

    counts: Counts
    """Counts of its newest batches."""
    troubled: Sequence[int]
    """The classes that help is requested for."""


class NeighbourIndex:
    """The metadata of many devices with the same classes, as a matrix with one column a device, updated in place.

    It takes 8 bytes for each class of each device, plus half as much for growth, and a search a few bytes a device.
    """

    def __init__(self, classes: int) -> None:
        self._classes = classes
        self._columns: dict[str, int] = {}
        self._devices: list[str] = []
        self._prior: NDArray[np.float32] = np.zeros((classes, 0), np.float32)
        self._recall: NDArray[np.float32] = np.zeros((classes, 0), np.float32)
        self._plogp: NDArray[np.float32] = np.zeros(0, np.float32)
        """Sum of p·log2 p over the classes: the part of the divergence that depends on the device only."""
        self._error: NDArray[np.float32] = np.zeros(0, np.float32)
        self._serving: NDArray[np.int32] = np.zeros(0, np.int32)
        self._has_reported: NDArray[np.bool_] = np.zeros(0, np.bool_)
        """Of samples, however few."""
        self._willing: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._well: NDArray[np.bool_] = np.zeros(0, np.bool_)
        """Not drifting."""

    def __len__(self) -> int:
        return len(self._devices)

    def put(self, device: str, neighbour: Neighbour) -> None:
        """Add a device, or replace its metadata.

        Raises ValueError where its counts have another number of classes.
        """
        if len(neighbour.counts.samples) != self._classes:
            raise ValueError(f"counts of {len(neighbour.counts.samples)} classes in an index of {self._classes}")
        column = self._columns.get(device)
        if column is None:
            column = len(self._devices)
            self._make_room(column + 1)
            self._columns[device] = column
            self._devices.append(device)
        prior = neighbour.counts.prior()
        self._prior[:, column] = prior
        self._recall[:, column] = neighbour.counts.recall()
        self._plogp[column] = _sum_plogp(prior)
        self._error[column] = neighbour.counts.error
        self._serving[column] = neighbour.serving
        self._has_reported[column] = bool(neighbour.counts.samples.any())
        self._willing[column] = neighbour.willing
        self._well[column] = not neighbour.drifting

    def remove(self, device: str) -> None:
        """Remove a device; no effect if it is unknown."""
        column = self._columns.pop(device, None)
        if column is None:
            return
        last = len(self._devices) - 1
        moved = self._devices.pop()
        if column != last:
            self._devices[column] = moved
            self._columns[moved] = column
            for matrix in (self._prior, self._recall):
                matrix[:, column] = matrix[:, last]
            self._plogp[column], self._error[column] = self._plogp[last], self._error[last]
            self._serving[column] = self._serving[last]
            for flags in (self._has_reported, self._willing, self._well):
                flags[column] = flags[last]

    def search(
        self, wanted: Wanted, rules: MatchRules, *, limit: int, exclude: Collection[str] = ()
    ) -> tuple[Match, ...]:
        """At most `limit` devices that can help, the best first.

        A device can help if it is willing, not drifting and not busy, if its class shares are similar enough, and if
        its error rate and its recall of each troubled class are within the rules' limits and better than those of the
        requesting device, since the reachable accuracy differs from task to task. Devices are sorted by divergence,
        then by requests served, then by name. `exclude` are the requesting device and those tried before.

        Raises ValueError where the counts have another number of classes.
        """
        prior = self._prior_of(wanted)
        count = len(self._devices)
        able = self._reporting(exclude) & self._willing[:count] & self._well[:count]
        able &= self._errs_less(wanted, rules) & (self._serving[:count] < rules.serves_at_once)
        candidates = np.flatnonzero(able)
        for label, least in self._least_recall(wanted):
            # A comparison with NaN, the recall of a class that was not seen, is false.
            recall = self._recall[label, candidates]
            candidates = candidates[(recall >= np.float32(rules.helper_recall)) & (recall > least)]
        divergence = self._divergence(prior, candidates)
        near = divergence <= rules.largest_divergence
        candidates, divergence = candidates[near], divergence[near]
        best = self._best(candidates, divergence, limit)
        return tuple(Match(self._devices[candidates[row]], float(divergence[row])) for row in best)

    def unfit(self, wanted: Wanted, rules: MatchRules, *, exclude: Collection[str] = ()) -> UnmatchedTensors:
        """The number of devices that cannot help, by the first reason that applies to each.

        Raises ValueError where the counts have another number of classes.
        """
        prior, count = self._prior_of(wanted), len(self._devices)
        left = self._reporting(exclude)
        known, better = np.ones(count, np.bool_), self._errs_less(wanted, rules)
        for label, least in self._least_recall(wanted):
            recall = self._recall[label, :count]
            known &= ~np.isnan(recall)
            better &= (recall >= np.float32(rules.helper_recall)) & (recall > least)
        near = np.zeros(count, np.bool_)
        near[left] = self._divergence(prior, np.flatnonzero(left)) <= rules.largest_divergence
        free = self._serving[:count] < rules.serves_at_once
        found = []
        for qualifies in (known, self._willing[:count], self._well[:count], better, near, free):
            found.append(int((left & ~qualifies).sum()))
            left &= qualifies
        return UnmatchedTensors(*found)

    def nearest(self, prior: Float64, *, limit: int, exclude: Collection[str] = ()) -> tuple[Match, ...]:
        """The `limit` devices whose class shares are most similar to `prior` [classes], whether or not they can help.

        Raises ValueError where `prior` has another number of classes.
        """
        if prior.shape != (self._classes,):
            raise ValueError(f"a prior of shape {prior.shape} in an index of {self._classes} classes")
        candidates = np.flatnonzero(self._reporting(exclude))
        divergence = self._divergence(prior, candidates)
        best = self._best(candidates, divergence, limit)
        return tuple(Match(self._devices[candidates[row]], float(divergence[row])) for row in best)

    def _prior_of(self, wanted: Wanted) -> Float64:
        prior = wanted.counts.prior()
        if prior.shape != (self._classes,):
            raise ValueError(f"a prior of shape {prior.shape} in an index of {self._classes} classes")
        return prior

    def _reporting(self, exclude: Collection[str]) -> NDArray[np.bool_]:
        """A mask of the devices that have samples and are not in `exclude`."""
        reporting = self._has_reported[: len(self._devices)].copy()
        reporting[[self._columns[device] for device in exclude if device in self._columns]] = False
        return reporting

    def _errs_less(self, wanted: Wanted, rules: MatchRules) -> NDArray[np.bool_]:
        """A mask of the devices whose overall error rate is within the rules and at most the requesting device's."""
        allowed: NDArray[np.bool_] = self._error[: len(self._devices)] <= min(rules.helper_error, wanted.counts.error)
        return allowed

    def _least_recall(self, wanted: Wanted) -> list[tuple[int, np.float32]]:
        """The requesting device's recall of each troubled class, which a helper's must exceed."""
        own = np.nan_to_num(wanted.counts.recall()[list(wanted.troubled)]).astype(np.float32)
        return list(zip(wanted.troubled, own, strict=True))

    def _best(self, candidates: NDArray[np.int64], divergence: NDArray[np.float32], limit: int) -> list[int]:
        """The first `limit` rows in the order of `search`; names are compared only for ties at the limit."""
        serving = self._serving[candidates]
        order = np.lexsort((serving, divergence))
        if len(order) > limit:
            last = order[limit - 1]
            tied = (divergence == divergence[last]) & (serving == serving[last])
            order = order[: max(limit, int(np.flatnonzero(tied[order])[-1]) + 1)]
        named = sorted(order.tolist(), key=lambda row: (divergence[row], serving[row], self._devices[candidates[row]]))
        return named[:limit]

    def _divergence(self, prior: Float64, candidates: NDArray[np.int64]) -> NDArray[np.float32]:
        """Divergence of `candidates`' class shares from `prior`, in bits [n]: H(middle) - H(one)/2 - H(other)/2."""
        found = np.empty(len(candidates), np.float32)
        own = np.float32(_sum_plogp(prior))
        half = (prior / 2).astype(np.float32)[:, None]
        for start in range(0, len(candidates), _BLOCK):
            columns = candidates[start : start + _BLOCK]
            middle = self._prior[:, columns]
            middle *= np.float32(0.5)
            middle += half
            np.maximum(middle, _SMALLEST, out=middle)
            middle *= np.log2(middle)
            found[start : start + _BLOCK] = (self._plogp[columns] + own) / 2 - middle.sum(axis=0)
        return np.clip(found, 0, 1, out=found)

    def _make_room(self, columns: int) -> None:
        size = self._prior.shape[1]
        if columns <= size:
            return
        grown = max(_FEWEST, size + size // 2, columns)
        self._prior = _widened(self._prior, grown)
        self._recall = _widened(self._recall, grown)
        self._plogp = np.resize(self._plogp, grown)
        self._error = np.resize(self._error, grown)
        self._serving = np.resize(self._serving, grown)
        self._has_reported = np.resize(self._has_reported, grown)
        self._willing = np.resize(self._willing, grown)
        self._well = np.resize(self._well, grown)


def _widened(matrix: NDArray[np.float32], columns: int) -> NDArray[np.float32]:
    wide = np.zeros((len(matrix), columns), np.float32)
    wide[:, : matrix.shape[1]] = matrix
    return wide


def _sum_plogp(prior: Float64) -> float:
    there = prior[prior > 0]
    return float(np.sum(there * np.log2(there)))
