"""Merging of running statistics: the mean of the devices' means, and the variance of all their values pooled.

The law of total variance: Var = E[Var_k] + Var[E_k] over devices k weighted by their samples. Neither a server learning
rate nor a privacy kind applies to statistics: they are measured, not learned. Sums are exact: integers on a grid fine
enough for the smallest variance and wide enough for the largest, in three parts of 31 bits.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_wire.bundle import RunningMoments
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32, Tensors

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

PLACES = (-3, 28, 59)
"""A number is the sum of three integers, each divided by 2 to the power of one of these; it is rounded at 2^-60."""
LARGEST = 2.0**33
"""Upper bound (exclusive) of every mean and variance."""


class MomentSum(NamedTuple):
    """Sums over devices, by the name of each mean or variance; means are relative to those of the base."""

    means: Mapping[str, Int64]
    """Σ n·(mean - base mean), [places, channels]."""
    squares: Mapping[str, Int64]
    """Σ n·(variance + (mean - base mean)²), [places, channels]."""
    weight: int


def empty_moments(statistics: Sequence[RunningMoments]) -> MomentSum:
    """Zero sums."""
    return MomentSum(
        {pair.mean.name: np.zeros((len(PLACES), *pair.mean.shape), np.int64) for pair in statistics},
        {pair.variance.name: np.zeros((len(PLACES), *pair.variance.shape), np.int64) for pair in statistics},
        0,
    )


def check_moments(statistics: Sequence[RunningMoments], found: Tensors, base: Tensors) -> None:
    """Raises WireError ``update.out_of_range`` where one device's statistics are too large to be summed."""
    for pair in statistics:
        for name, numbers in zip((pair.mean.name, pair.variance.name), _terms(pair, found, base), strict=True):
            if np.abs(numbers).max(initial=0) >= LARGEST:
                raise WireError("update.out_of_range", f"the statistics {name} are not below {LARGEST:g}")


def add_moments(
    total: MomentSum, statistics: Sequence[RunningMoments], found: Tensors, base: Tensors, weight: int
) -> MomentSum:
    """Add one device's statistics, which were checked, to `total`, in place."""
    for pair in statistics:
        shift, square = _terms(pair, found, base)
        total.means[pair.mean.name][...] += weight * _on_the_grid(shift)
        total.squares[pair.variance.name][...] += weight * _on_the_grid(square)
    return total._replace(weight=total.weight + weight)


def merged_moments(total: MomentSum, statistics: Sequence[RunningMoments], base: Tensors) -> Tensors:
    """The statistics of all devices together."""
    merged: dict[str, Float32] = {}
    for pair in statistics:
        shift = _mean(total.means[pair.mean.name], total.weight)
        variance = _mean(total.squares[pair.variance.name], total.weight) - shift * shift
        merged[pair.mean.name] = (base[pair.mean.name] + shift).astype(np.float32)
        merged[pair.variance.name] = np.maximum(variance, 0).astype(np.float32)
    return merged


def _terms(pair: RunningMoments, found: Tensors, base: Tensors) -> tuple[Float64, Float64]:
    shift = found[pair.mean.name].astype(np.float64) - base[pair.mean.name]
    return shift, found[pair.variance.name] + shift * shift


def _on_the_grid(numbers: Float64) -> Int64:
    """The integers at each place. The remainder after each place is exact."""
    places = np.empty((len(PLACES), *numbers.shape), np.int64)
    rest = numbers
    for index, place in enumerate(PLACES):
        levels = np.rint(np.ldexp(rest, place))
        places[index] = levels
        rest = rest - np.ldexp(levels, -place)
    return places


def _mean(places: Int64, weight: int) -> Float64:
    """The exact quotient, rounded once."""
    unit = weight << PLACES[-1]
    shifts = [PLACES[-1] - place for place in PLACES]
    totals = (sum(int(level) << shift for level, shift in zip(one, shifts, strict=True)) for one in _columns(places))
    return np.array([float(Fraction(total, unit)) for total in totals]).reshape(places.shape[1:])


def _columns(places: Int64) -> Int64:
    return places.reshape(len(PLACES), -1).T
