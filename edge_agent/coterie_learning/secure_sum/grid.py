"""Quantisation of updates to a grid of integers shared by all devices of a sum, and its inverse.

The vector is rotated (see `coterie_learning.rotation`), so that no number is far larger than the others, and
stochastically rounded, which is unbiased, to multiples of a step that depends only on the plan and the number of
devices: the smallest for which the sum fits modulo 2^bits. If all updates had the largest norm and were equal, a number
of the sum would have a standard deviation `SPARE` times below the largest number (the rule of `heuristic_scale_factor`
in google-research/federated, with a larger margin: a sum that wraps is useless).

Devices may add noise, each a share of the noise of the sum. Sensitivity is then measured in integers, after rounding:
numbers are rounded again until their norm is at most `Grid.sensitivity` (conditional rounding: Kairouz et al. 2021,
arXiv 2102.06387, Algorithm 1 and Proposition 22). A share is a rounded normal number. The sum of n such numbers is
distributed as one normal number with n times the variance plus n-1 numbers uniform in [-1/2, 1/2], rounded: the
characteristic function of a rounded normal number is exp(-s²w²/2)·sinc(w/2) and its aliases, of which all but the first
are below 3·exp(-π²s²/2) where they matter, less than 1e-33 for `LEAST_DEVIATION`. The sum is thus a post-processing of
one Gaussian mechanism, and costs no more.

The vector is rotated in blocks twice, in a different order each time: a single rotation would leave the energy of a few
numbers, or of one row or column of a table, in a few blocks.
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
"""Standard deviations of the largest sum that fit into the range."""
LEAST_DEVIATION = 4.0
"""Least standard deviation of the noise of one device, in integers."""
ROUNDING_SLACK = 2.0
"""√(2·ln(1/β)), where rounding is repeated with a probability of at most β = 0.14."""
ROUNDINGS = 100
"""Attempts at rounding; all fail with a probability of 1e-86."""
SMALLEST_BLOCK = 64
FEW_BLOCKS = 16
"""Least number of blocks of a vector, so that the padding of the last is small."""
TURNS = (0, 1)


class Noise(NamedTuple):
    """The noise that the devices of a sum add together."""

    multiplier: float
    """Its standard deviation, in sensitivities."""
    honest: int
    """Least number of honest devices; each adds one of so many shares."""


class Grid(NamedTuple):
    """The integer grid of a sum, the same for all of its devices."""

    parameters: int
    """Number of parameters of an update."""
    bits: int
    norm: float
    """Largest L2 norm of an update."""
    members: int
    seed: int
    """Seed of the rotation, the same for all."""
    noise: Noise | None = None
    """None: devices add no noise."""

    @property
    def block(self) -> int:
        """How many numbers are rotated together: a power of two."""
        few = max(1, self.parameters // FEW_BLOCKS)
        return min(LARGEST_BLOCK, max(SMALLEST_BLOCK, 1 << (few.bit_length() - 1)))

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return max(1, -(-self.parameters // self.block))

    @property
    def length(self) -> int:
        """Length of the rotated vector: that of the update, padded."""
        return self.block * self.blocks

    @property
    def step(self) -> float:
        """The value of the integer 1.

        Raises WireError ``secure_sum.too_few_bits`` where rounding error alone would fill the range, or where noise is
        not larger than rounding error.
        """
        return self.norm / self._levels

    @property
    def sensitivity(self) -> float:
        """The largest L2 norm of a device's integers. Raises what `step` raises."""
        return math.sqrt(self._square(self._levels))

    @property
    def deviation(self) -> float:
        """Standard deviation of one device's noise, in integers; 0 without noise. Raises what `step` raises."""
        if self.noise is None:
            return 0.0
        return self.noise.multiplier * self.sensitivity / math.sqrt(self.noise.honest)

    def rounded(self, numbers: Float32, *, weight: float, seed: int, key: bytes | None = None) -> UInt:
        """`numbers` [parameters] times `weight`, rotated, rounded, and with noise added [length], modulo 2^bits.

        The noise is drawn from the secret `key` [32 bytes].
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
        """The largest norm in integers: c, for which the variance of a number of the sum fits the range.

        Variances add up: of m equal updates of L numbers, m²c²/L; of rounding, m/4; and of noise, w·`_square`(c).
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
        """Upper bound of the squared norm after conditional rounding, where the norm was `levels` before."""
        rounding = self.length / 4 + ROUNDING_SLACK * (levels + math.sqrt(self.length) / 2)
        return levels**2 + rounding

    def mean(self, total: UInt, *, weight: float) -> Float32:
        """The mean update [parameters] in the sum [length] of such vectors, given the sum of their weights."""
        half, whole = 1 << (self.bits - 1), 1 << self.bits
        levels = (total.astype(np.int64) + half) % whole - half
        factor = self.step / (weight * self.block)
        found: Float32 = self._rotated_back((levels * factor).astype(np.float32))[: self.parameters]
        return found

    def _rotated(self, numbers: Float32) -> Float32:
        """[length]; each pass multiplies the norm by the square root of `block`."""
        found = np.zeros(self.length, np.float32)
        found[: self.parameters] = numbers
        for turn in TURNS:
            table = found[self._order(turn)].reshape(self.blocks, self.block)
            found = np.concatenate([hadamard(one * self._signs(turn, index)) for index, one in enumerate(table)])
        return found

    def _rotated_back(self, rotated: Float32) -> Float32:
        """The inverse rotation [length], with norms multiplied likewise."""
        found = rotated
        for turn in reversed(TURNS):
            table = found.reshape(self.blocks, self.block)
            back = np.concatenate([hadamard(one) * self._signs(turn, index) for index, one in enumerate(table)])
            found = np.empty_like(back)
            found[self._order(turn)] = back
        return found

    def _order(self, turn: int) -> NDArray[np.int64]:
        """A permutation [length] that spreads regular patterns over all blocks."""
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
