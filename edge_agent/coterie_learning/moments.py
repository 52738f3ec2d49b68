"""Merging of running statistics: the mean of the devices' means, and the variance of all their values together.

The law of total variance: Var = E[Var_k] + Var[E_k] over devices k weighted by their samples. Neither a server's step
size nor what hides an update is for statistics: they are gathered, not learned.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_wire.bundle import RunningMoments
from coterie_wire.tensors import Tensors

Float64 = NDArray[np.float64]


class MomentSum(NamedTuple):
    """Sums over devices, by the name of each mean or variance; means are counted from those of the base."""

    means: Mapping[str, Float64]
    """Σ n·(mean - base mean)."""
    squares: Mapping[str, Float64]
    """Σ n·(variance + (mean - base mean)²)."""
    weight: float


def empty_moments(statistics: Sequence[RunningMoments]) -> MomentSum:
    """The sums over no device."""
    return MomentSum(
        {pair.mean.name: np.zeros(pair.mean.shape) for pair in statistics},
        {pair.variance.name: np.zeros(pair.variance.shape) for pair in statistics},
        0.0,
    )


def add_moments(
    total: MomentSum, statistics: Sequence[RunningMoments], found: Tensors, base: Tensors, weight: float
) -> MomentSum:
    """`total` with one device's statistics, computed in place of it."""
    for pair in statistics:
        shift = found[pair.mean.name].astype(np.float64) - base[pair.mean.name]
        total.means[pair.mean.name][...] += weight * shift
        total.squares[pair.variance.name][...] += weight * (found[pair.variance.name] + shift * shift)
    return total._replace(weight=total.weight + weight)


def add_moment_sums(left: MomentSum, right: MomentSum) -> MomentSum:
    """`left` + `right`, computed in place of `left`."""
    for sums, others in ((left.means, right.means), (left.squares, right.squares)):
        for name, summed in sums.items():
            summed += others[name]
    return left._replace(weight=left.weight + right.weight)


def merged_moments(total: MomentSum, statistics: Sequence[RunningMoments], base: Tensors) -> Tensors:
    """The statistics of all devices together."""
    merged: dict[str, NDArray[np.float32]] = {}
    for pair in statistics:
        shift = total.means[pair.mean.name] / total.weight
        variance = total.squares[pair.variance.name] / total.weight - shift * shift
        merged[pair.mean.name] = (base[pair.mean.name] + shift).astype(np.float32)
        merged[pair.variance.name] = np.maximum(variance, 0).astype(np.float32)
    return merged
