"""Numbers of an update as whole numbers that all devices of a sum share the meaning of, and back.

The vector is rotated (see `coterie_learning.rotation`), so that no number is far larger than the others, and rounded at
random, so that the mean is right, to multiples of a step that follows from the plan and from how many devices take part
alone: as small as the sum still fits modulo 2^bits. Were all updates as long as they may be and alike, a number of the
sum would have the standard deviation `SPARE` times below the largest (the rule of `heuristic_scale_factor` of
google-research/federated, with more to spare: a sum that wraps is of no use).

Devices may add noise, each its share of what the sum is to have. Sensitivity is then counted in whole numbers, after
rounding: numbers are rounded anew until their norm is at most `Grid.sensitivity` (conditional rounding: Kairouz et al.
2021, arXiv 2102.06387, Algorithm 1 and Proposition 22). A share is normal and rounded. The sum of n such numbers is
distributed as one normal number with n times the variance plus n-1 numbers uniform in [-1/2, 1/2], rounded; for the
characteristic function of a rounded normal number is exp(-s²w²/2)·sinc(w/2) and its aliases, of which those beside the
first are below 3·exp(-π²s²/2) wherever they are counted, less than 1e-33 for `LEAST_DEVIATION`. What a sum tells is
thus computed from one Gaussian mechanism's result, and costs no more than that.

It is rotated in blocks twice, in an order of its own each time: once alone would leave in a few blocks what is in a few
numbers, or in one row or column of a table.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.noise import whole_noise
from coterie_learning.random import derive_seed, random_bytes
from coterie_learning.rotation import LARGEST_BLOCK, hadamard, random_signs
from coterie_learning.secure_sum.masks import UInt
from coterie_learning.secure_sum.vector import word
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32

SPARE = 6.0
"""Standard deviations of the longest sum that fit."""
LEAST_DEVIATION = 4.0
"""Of the noise of one device, in whole numbers."""
ROUNDING_SLACK = 2.0
"""√(2·ln(1/β)), where rounding is done anew with a probability of β at most: 0.14."""
ROUNDINGS = 100
"""How often it is tried; all fail with a probability of 1e-86."""
SMALLEST_BLOCK = 64
FEW_BLOCKS = 16
"""Blocks that a vector is divided into at least, so that what fills up the last is little."""
TURNS = (0, 1)


class Noise(NamedTuple):
    """The noise that the devices of a sum add together, each a share."""

    multiplier: float
    """Standard deviation of it, in sensitivities."""
    honest: int
    """Devices whose noise there is at least, and of whom each adds its share of so many."""


class Grid(NamedTuple):
    """The same for all devices of a sum."""

    parameters: int
    """Numbers of an update."""
    bits: int
    norm: float
    """Of an update, at most."""
    members: int
    seed: int
    """Of the rotation, the same for all."""
    noise: Noise | None = None
    """None: devices add none."""

    @property
    def block(self) -> int:
        """Numbers that are rotated together: a power of two."""
        few = max(1, self.parameters // FEW_BLOCKS)
        return min(LARGEST_BLOCK, max(SMALLEST_BLOCK, 1 << (few.bit_length() - 1)))

    @property
    def blocks(self) -> int:
        """How many of these there are."""
        return max(1, -(-self.parameters // self.block))

    @property
    def length(self) -> int:
        """Numbers of the rotated vector: those of the update, filled up."""
        return self.block * self.blocks

    @property
    def step(self) -> float:
        """What the whole number 1 stands for.

        Raises WireError ``secure_sum.too_few_bits`` where rounding alone would fill the numbers, or noise is too little
        to be told from rounding.
        """
        return self.norm / self._levels

    @property
    def sensitivity(self) -> float:
        """The L2 norm of a device's whole numbers, at most. Raises what `step` raises."""
        return math.sqrt(self._square(self._levels))

    @property
    def deviation(self) -> float:
        """Of the noise that one device adds, in whole numbers; 0 without noise. Raises what `step` raises."""
        if self.noise is None:
            return 0.0
        return self.noise.multiplier * self.sensitivity / math.sqrt(self.noise.honest)

    def rounded(self, numbers: Float32, *, weight: float, seed: int, key: bytes | None = None) -> UInt:
        """`numbers` [parameters] times `weight`, rotated, rounded and with noise [length], modulo 2^bits.

        The noise is drawn from `key` [32 bytes], which nobody else may learn.
        """
        factor = weight / (self.step * self.block)
        rotated = self._rotated(numbers).astype(np.float64) * factor
        if self.noise is None:
            return self._modulo(self._floor(rotated, seed, 0))
        assert key is not None, "noise is drawn from a key"
        levels = self._conditionally_rounded(rotated, seed)
        return self._modulo(levels + whole_noise(self.deviation, key, "sum", 0, self.length))

    def _conditionally_rounded(self, rotated: NDArray[np.float64], seed: int) -> NDArray[np.int64]:
        most = self._square(self._levels)
        for attempt in range(ROUNDINGS):
            levels = self._floor(rotated, seed, attempt)
            if float(np.square(levels, dtype=np.float64).sum()) <= most:
                return levels
        raise WireError("update.out_of_range", f"the update is longer than {self.norm}")

    def _floor(self, rotated: NDArray[np.float64], seed: int, attempt: int) -> NDArray[np.int64]:
        drawn = np.frombuffer(random_bytes(4 * self.length, seed, "rounding", attempt), "<u4")
        return np.floor(rotated + drawn * 2.0**-32).astype(np.int64)

    @property
    def _levels(self) -> float:
        """What the largest norm is in whole numbers: c, for which variances of the sum add up to what fits.

        Those of m updates alike of L numbers, m²c²/L, of rounding, m/4, and of noise, w·`_square`(c).
        """
        length, root = self.length, math.sqrt(self.length)
        room = (2.0 ** (self.bits - 1) / SPARE) ** 2 - self.members / 4
        share = 0.0 if self.noise is None else self.noise.multiplier**2 * self.members / self.noise.honest
        square, slope = self.members**2 / length + share, share * ROUNDING_SLACK
        room -= share * (length / 4 + ROUNDING_SLACK * root / 2)
        if room <= 0:
            detail = f"numbers of {self.bits} bits do not hold the sum of {self.members} devices"
            raise WireError("secure_sum.too_few_bits", detail)
        found = (math.sqrt(slope**2 + 4 * square * room) - slope) / (2 * square)
        if self.noise is not None:
            least = LEAST_DEVIATION * math.sqrt(self.noise.honest) / self.noise.multiplier
            if self._square(found) < least**2:
                detail = f"in numbers of {self.bits} bits the noise of one device is below {LEAST_DEVIATION}"
                raise WireError("secure_sum.too_few_bits", detail)
        return found

    def _square(self, levels: float) -> float:
        """Of the norm after conditional rounding, at most, where it was `levels` before."""
        rounding = self.length / 4 + ROUNDING_SLACK * (levels + math.sqrt(self.length) / 2)
        return levels**2 + rounding

    def mean(self, total: UInt, *, weight: float) -> Float32:
        """What the sum [length] of such vectors stands for [parameters], divided by the sum of their weights."""
        half, whole = 1 << (self.bits - 1), 1 << self.bits
        levels = (total.astype(np.int64) + half) % whole - half
        factor = self.step / (weight * self.block)
        found: Float32 = self._rotated_back((levels * factor).astype(np.float32))[: self.parameters]
        return found

    def _rotated(self, numbers: Float32) -> Float32:
        """[length], each turn of which makes it longer by the root of `block`."""
        found = np.zeros(self.length, np.float32)
        found[: self.parameters] = numbers
        for turn in TURNS:
            table = found[self._order(turn)].reshape(self.blocks, self.block)
            found = np.concatenate([hadamard(one * self._signs(turn, index)) for index, one in enumerate(table)])
        return found

    def _rotated_back(self, rotated: Float32) -> Float32:
        """[length], longer likewise."""
        found = rotated
        for turn in reversed(TURNS):
            table = found.reshape(self.blocks, self.block)
            back = np.concatenate([hadamard(one) * self._signs(turn, index) for index, one in enumerate(table)])
            found = np.empty_like(back)
            found[self._order(turn)] = back
        return found

    def _order(self, turn: int) -> NDArray[np.int64]:
        """Places [length] that are spread over all blocks, whatever the distance between them."""
        stride = derive_seed(self.seed, "order", turn) % self.length
        while math.gcd(stride, self.length) > 1:
            stride += 1
        order: NDArray[np.int64] = np.arange(self.length, dtype=np.int64) * stride % self.length
        return order

    def _signs(self, turn: int, index: int) -> Float32:
        return random_signs(self.block, self.seed, turn * self.blocks + index)

    def _modulo(self, levels: NDArray[np.int64]) -> UInt:
        found: UInt = (levels & ((1 << self.bits) - 1)).astype(word(self.bits))
        return found
