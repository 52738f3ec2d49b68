"""Encodes one device's counts as a vector for secure aggregation, and decodes the sum as counts with their error.

Counts are multiplied by an integer unit, chosen so that the noise of one device has a standard deviation of at least
`LEAST_DEVIATION`: the sum of rounded noise is then equivalent to one Gaussian mechanism
(`coterie_learning.secure_sum.grid`). Each device adds a share of the noise, such that the honest devices together add
`noise_multiplier` sensitivities. Without noise the unit is 1 and the sum is exact.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.noise import whole_noise
from coterie_learning.question import Int64, Question
from coterie_learning.secure_sum.grid import LEAST_DEVIATION
from coterie_learning.secure_sum.vector import Layout, UInt64, Vector
from coterie_wire.errors import WireError

Float64 = NDArray[np.float64]
BITS = 32
FURTHEST = 10.0
"""Standard deviations of the noise that a cell has room for: it overflows with a probability of 1e-23."""


class FleetAnswer(NamedTuple):
    """A fleet's answer to a question."""

    counts: Float64
    """[cells]."""
    deviation: float
    """Standard deviation of the noise on each of them."""
    devices: int
    """Devices whose vectors were summed."""


class Encoding(NamedTuple):
    """How a question's counts are encoded; the same for all devices of a sum with this number of `members`."""

    question: Question
    members: int
    """Devices in the member list."""

    @property
    def cells(self) -> int:
        return len(self.question.count.labels)

    @property
    def layout(self) -> Layout:
        """Raises what `unit` raises."""
        self._check_room()
        return Layout(self.cells + self.cells % 2, BITS, 1)

    @property
    def unit(self) -> int:
        """The integer that stands for one count. Raises WireError ``secure_sum.too_few``."""
        if self.question.noise_multiplier is None:
            return 1
        return max(1, math.ceil(LEAST_DEVIATION / self._share))

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise that one device adds to a cell, in integers. Raises what `unit` raises."""
        return 0.0 if self.question.noise_multiplier is None else self._share * self.unit

    def vector(self, counts: Int64, *, key: bytes) -> Vector:
        """The vector that a device with these `counts` [cells] adds to the sum; noise is drawn from `key` [32 bytes].

        Raises WireError ``update.out_of_range`` where it counts more than the question allows one device, and what
        `layout` raises.
        """
        layout = self.layout
        if counts.shape != (self.cells,) or counts.min() < 0 or counts.sum() > self.question.count.sensitivity:
            raise WireError("update.out_of_range", "the device counts more than the question takes of one")
        levels = np.zeros(layout.length, np.int64)
        levels[: self.cells] = counts * self.unit
        if self.question.noise_multiplier is not None:
            levels += whole_noise(self.deviation, key, "answer", 0, layout.length)
        numbers = (levels & ((1 << BITS) - 1)).astype(np.uint32)
        return Vector(BITS, numbers, np.ones(1, np.uint64))

    def answer(self, total: Vector, devices: int) -> FleetAnswer:
        """The answer in the sum of the vectors of this number of `devices`.

        Raises WireError ``secure_sum.wrong_sum`` where it cannot be the sum of such vectors.
        """
        tail: UInt64 = total.tail
        if tail.tolist() != [devices]:
            raise WireError("secure_sum.wrong_sum", f"the sum is of other answers than those of {devices} devices")
        half, whole = 1 << (BITS - 1), 1 << BITS
        levels = (total.numbers[: self.cells].astype(np.int64) + half) % whole - half
        counts = levels / self.unit
        most = devices * self.question.count.sensitivity
        if self.question.noise_multiplier is None and (levels.min() < 0 or levels.sum() > most):
            raise WireError("secure_sum.wrong_sum", f"{devices} devices cannot count that much")
        return FleetAnswer(counts, self.error(devices), devices)

    def error(self, devices: int) -> float:
        """Standard deviation, in counts, of the noise on a cell of the sum of so many `devices`, rounding included."""
        if self.question.noise_multiplier is None:
            return 0.0
        return math.sqrt(devices * (self.deviation**2 + 1 / 12)) / self.unit

    @property
    def _share(self) -> float:
        """Standard deviation of the noise that each device adds, in counts."""
        assert self.question.noise_multiplier is not None
        honest = self.question.terms.honest(self.members)
        return self.question.noise_multiplier * self.question.count.sensitivity / math.sqrt(honest)

    def _check_room(self) -> None:
        """Raises WireError ``secure_sum.too_few_bits``."""
        largest = self.members * self.question.count.sensitivity * self.unit
        largest += math.ceil(FURTHEST * math.sqrt(self.members) * (self.deviation + 1))
        if largest >= 1 << (BITS - 1):
            raise WireError("secure_sum.too_few_bits", f"{self.members} answers may add up to more than {BITS} bits")
