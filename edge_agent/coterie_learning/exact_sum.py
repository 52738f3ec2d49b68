"""Weighted sums of updates as integers: order, block size and partial sums do not change a bit of them.

A parameter is rounded to a multiple of 2^-32 when it is decoded, multiplied by its update's weight, and added, in
int64. With magnitudes below 128 and weights that sum to less than 2^24 nothing overflows: larger values are refused
before they are added, never saturated.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.payloads import Coded
from coterie_wire.tensors import Float32

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

GRID_BITS = 32
GRID = 2.0**-GRID_BITS
LARGEST = 128.0
"""Upper bound (exclusive) of the magnitude of an update's parameters."""
LARGEST_SCALAR = 2.0**32
"""Upper bound (exclusive) of the numbers that an update has beside those by parameter."""
MOST_WEIGHT = (1 << 24) - 1
"""The largest sum of the weights of all updates."""
CHUNK = 16_384
"""Parameters handled at once, so that what is computed on the way stays in the processor's cache."""
TOGETHER = 16
"""Coded updates that are multiplied with their weights and added by one matrix product."""
_EXACT_BITS = 53 - 8 - (TOGETHER - 1).bit_length()
"""A float64 holds the sum of so many codes times weights of that many bits, whatever the order of additions."""


class WeightedCodes(NamedTuple):
    """One update's share of a block that is summed."""

    coded: Coded
    weight: int


def add_numbers(total: Int64, numbers: Float32, weight: int) -> None:
    """`total` + `weight` · `numbers`, computed in place of `total`; all are flat."""
    for start in range(0, len(numbers), CHUNK):
        part: Float64 = numbers[start : start + CHUNK].astype(np.float64)
        part *= 2.0**GRID_BITS
        levels: Int64 = np.rint(part).astype(np.int64)
        levels *= weight
        total[start : start + CHUNK] += levels


def add_codes(total: Int64, updates: Sequence[WeightedCodes]) -> None:
    """`total` + Σ weight · (codes · scales rounded to the grid), in place of the flat `total`.

    The updates divide the block into the same rows. Products and sums are computed in float64, in which they are exact.
    """
    rows, width = updates[0].coded.codes.shape
    table = total.reshape(rows, width)
    step_rows, step_columns = max(1, CHUNK // width), min(width, CHUNK)
    for begin in range(0, len(updates), TOGETHER):
        group = updates[begin : begin + TOGETHER]
        weights = np.stack([_grid_weights(update) for update in group], axis=1)  # [rows, updates]
        codes = np.empty((len(group), step_rows * step_columns))
        for row in range(0, rows, step_rows):
            taken = slice(row, row + step_rows)
            for column in range(0, width, step_columns):
                columns = slice(column, column + step_columns)
                piece = table[taken, columns]
                read = codes[:, : piece.size].reshape(len(group), *piece.shape)
                for place, update in enumerate(group):
                    read[place] = update.coded.codes[taken, columns]
                for limb, shift in _limbs(weights[taken]):
                    added = np.matmul(limb[:, None, :], read.transpose(1, 0, 2))[:, 0]
                    piece += added.astype(np.int64) << shift


def mean(total: Int64, weight: int) -> Float64:
    """`total` as numbers, divided by the sum of the weights."""
    quotient: Float64 = np.divide(total, weight, dtype=np.float64)
    return quotient * GRID


def mean_scalar(scalars: Sequence[float], weights: Sequence[int]) -> float:
    """Their weighted mean, each rounded to the grid; the sum is one of whole numbers of any size."""
    total: int = sum(round(scalar * 2**GRID_BITS) * weight for scalar, weight in zip(scalars, weights, strict=True))
    return total / sum(weights) * GRID


def _grid_weights(update: WeightedCodes) -> Int64:
    """The factor of each row's codes, in multiples of the grid's step; below 2^56."""
    levels = np.rint(update.coded.scales.astype(np.float64) * 2.0**GRID_BITS).astype(np.int64)
    return levels * update.weight


def _limbs(weights: Int64) -> Iterator[tuple[Float64, int]]:
    """`weights` divided into numbers of `_EXACT_BITS` bits, each with its place."""
    for shift in range(0, int(weights.max()).bit_length(), _EXACT_BITS):
        yield ((weights >> shift) & ((1 << _EXACT_BITS) - 1)).astype(np.float64), shift
