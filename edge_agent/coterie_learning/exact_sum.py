"""Weighted sums of updates as integers: order, block size and partial sums do not change a single bit.

A parameter is rounded to a multiple of 2^-32 when it is decoded, multiplied by its update's weight, and added, in
int64. With magnitudes below 128 and weights that sum to less than 2^24 there is no overflow: larger values are refused
before they are added, never saturated.

Several updates are added at once by a matrix product in float32 or float64, whose terms are multiples of one power of
two. Where the sum of their magnitudes is at most 2^24, or 2^53, times that power, the result is exact in any order of
addition.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.payloads import LARGEST_CODE, Coded
from coterie_wire.tensors import Float32

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
Digits = NDArray[np.float32] | NDArray[np.float64]

GRID_BITS = 32
GRID = 2.0**-GRID_BITS
LARGEST = 128.0
"""Upper bound (exclusive) of the magnitude of an update's parameters."""
LARGEST_SCALAR = 2.0**32
"""Upper bound (exclusive) of the scalars of an update."""
MOST_WEIGHT = (1 << 24) - 1
"""The largest sum of the weights of all updates."""
TOGETHER = 16
"""Updates that are multiplied with their weights and added by one matrix product."""
CHUNK = 4_096
"""Parameters of each update that are processed at once, so that the processor's cache holds them as floats."""
_EXACT = {np.float32: 1 << 24, np.float64: 1 << 53}
"""Every integer up to this is representable in the type."""


class WeightedCodes(NamedTuple):
    """One update's share of a block that is summed."""

    coded: Coded
    weight: int


class WeightedNumbers(NamedTuple):
    """The same for an update whose codec has no integer codes."""

    numbers: Float32
    """[parameters], of magnitudes below `LARGEST`."""
    weight: int


def add_numbers(total: Int64, updates: Sequence[WeightedNumbers]) -> None:
    """`total` + Σ weight · (numbers rounded to the grid), in place of the flat `total`."""
    weights = np.array([[update.weight for update in updates]])
    limbs = list(_limbs(weights, int(LARGEST) << GRID_BITS))
    levels = np.empty((len(updates), 1, min(CHUNK, total.size)), np.float32)
    scratch = np.empty(levels.size, limbs[0].digits.dtype)
    for start in range(0, total.size, CHUNK):
        piece = total[None, start : start + CHUNK]
        taken = levels[..., : piece.size]
        for place, update in enumerate(updates):
            # Exact in float32: scaling by a power of two, and rounding, as only numbers below 2^24 have fractions.
            np.multiply(update.numbers[start : start + CHUNK], np.float32(2.0**GRID_BITS), out=taken[place, 0])
        np.rint(taken, out=taken)
        _add_products(piece, taken, limbs, scratch)


def add_codes(total: Int64, updates: Sequence[WeightedCodes]) -> None:
    """`total` + Σ weight · (codes · scales rounded to the grid), in place of the flat `total`.

    The updates divide the block into the same rows.
    """
    codes = np.stack([update.coded.codes for update in updates])
    _, rows, width = codes.shape
    table = total.reshape(rows, width)
    limbs = list(_limbs(_grid_weights(updates), LARGEST_CODE))
    step_rows, step_columns = max(1, CHUNK // width), min(width, CHUNK)
    scratch = np.empty(len(updates) * step_rows * step_columns, limbs[0].digits.dtype)
    for row in range(0, rows, step_rows):
        taken = slice(row, row + step_rows)
        of_rows = [Limb(limb.digits[taken], limb.shift) for limb in limbs]
        for column in range(0, width, step_columns):
            columns = slice(column, column + step_columns)
            _add_products(table[taken, columns], codes[:, taken, columns], of_rows, scratch)


def mean(total: Int64, weight: int) -> Float64:
    """`total` as floating-point numbers, divided by the sum of the weights."""
    quotient: Float64 = np.divide(total, weight, dtype=np.float64)
    quotient *= GRID
    return quotient


def mean_scalar(scalars: Sequence[float], weights: Sequence[int]) -> float:
    """The weighted mean of `scalars`, each rounded to the grid; summed in integers of arbitrary size."""
    total: int = sum(round(scalar * 2**GRID_BITS) * weight for scalar, weight in zip(scalars, weights, strict=True))
    return total / sum(weights) * GRID


def _grid_weights(updates: Sequence[WeightedCodes]) -> Int64:
    """[rows, updates]: the factors of codes, in multiples of the grid's step; below 2^56."""
    scales = np.stack([update.coded.scales for update in updates], axis=1).astype(np.float64)
    levels: Int64 = np.rint(scales * 2.0**GRID_BITS).astype(np.int64)
    levels *= np.array([update.weight for update in updates])
    return levels


class Limb(NamedTuple):
    """Some of the bits of the weights."""

    digits: Digits
    """[rows, updates], whole numbers."""
    shift: int
    """The position of their lowest bit."""


def _limbs(weights: Int64, largest: int) -> Iterator[Limb]:
    """`weights` [rows, updates] in the fewest limbs for which the sum of digits · `largest` in each row is exact."""
    bits_set = np.bitwise_or.reduce(weights, axis=1)
    units = np.maximum(bits_set & -bits_set, 1)  # by row, the power of two that all its weights are multiples of
    most = int((weights.sum(axis=1) // units).max())
    for dtype, exact in _EXACT.items():
        if most <= exact // largest:
            yield Limb(weights.astype(dtype), 0)
            return
    bits = (_EXACT[np.float64] // largest // weights.shape[1]).bit_length() - 1
    for shift in range(0, int(weights.max()).bit_length(), bits):
        yield Limb(((weights >> shift) & ((1 << bits) - 1)).astype(np.float64), shift)


def _add_products(total: Int64, levels: NDArray[np.generic], limbs: Sequence[Limb], scratch: Digits) -> None:
    """`total` [rows, columns] + Σ weights · `levels` [updates, rows, columns], in place of `total`."""
    wide = scratch[: levels.size].reshape(levels.shape)
    wide[...] = levels
    for digits, shift in limbs:
        products = np.matmul(digits[:, None, :], wide.transpose(1, 0, 2))[:, 0].astype(np.int64)
        if shift:
            products <<= shift
        total += products
