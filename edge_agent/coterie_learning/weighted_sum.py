"""Sums of weighted tensors in float64, in the order in which they are given."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_wire.tensors import Tensors

Float64 = NDArray[np.float64]

CHUNK = 32_768
"""Elements handled at once: 256 KiB of float64, which stays in the processor's cache between product and sum."""


class WeightedSum(NamedTuple):
    """Per tensor the sum of weight · update, flattened, and the sum of the weights."""

    sums: Mapping[str, Float64]
    weight: float


def empty_sum(like: Tensors) -> WeightedSum:
    """The sum of nothing, with the names and sizes of `like`."""
    return WeightedSum({name: np.zeros(tensor.size, np.float64) for name, tensor in like.items()}, 0.0)


def add_weighted(total: WeightedSum, update: Tensors, weight: float) -> WeightedSum:
    """`total` + `weight` · `update`, computed in place of `total`."""
    product = np.empty(CHUNK, np.float64)
    for name, summed in total.sums.items():
        flat = update[name].reshape(-1)
        for start in range(0, flat.size, CHUNK):
            part = flat[start : start + CHUNK]
            weighted = product[: part.size]
            np.multiply(part, weight, out=weighted)
            summed[start : start + CHUNK] += weighted
    return WeightedSum(total.sums, total.weight + weight)


def add_sums(left: WeightedSum, right: WeightedSum) -> WeightedSum:
    """`left` + `right`, computed in place of `left`."""
    for name, summed in left.sums.items():
        summed += right.sums[name]
    return WeightedSum(left.sums, left.weight + right.weight)
