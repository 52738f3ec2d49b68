"""A clipping norm that follows a quantile of the updates' norms (Andrew et al. 2021, arXiv 1905.03871).

In each round the share of updates whose norm is at most the clipping norm is released under noise, and the clipping
norm moves towards the value where that share is the quantile.
"""

import math
from collections.abc import Sequence

from coterie_learning.noise import whole_noise

STEP = 0.2
"""Learning rate: change of the logarithm of the norm for each unit of deviation of the share."""
COUNT_NOISE = 0.05
"""Standard deviation of the noise on the count, as a share of the number of updates."""
SHORTER = 0.99
"""An update below this share of the norm was not clipped: the codec rounds clipped ones to near the norm."""
SMALLEST, LARGEST = 1e-6, 1e3
_GRID = 1 << 20
_NAME = "shorter"
"""Name that the noise is drawn for; names of parts of models contain a dot."""


def count_noise(multiplier: float, updates: int) -> float:
    """Standard deviation of the noise on the count, large enough for a joint noise multiplier of `multiplier`."""
    return max(COUNT_NOISE * updates, multiplier)


def sum_multiplier(multiplier: float, updates: int) -> float:
    """z of the sum, so that sum and count together cost as much as a sum with noise multiplier `multiplier`.

    (z⁻² - (2σ)⁻²)^(-1/2) with σ of the count: counted as 1/2 and -1/2, a device moves it by 1/2 (Theorem 1).
    """
    return 1 / math.sqrt(1 / multiplier**2 - 1 / (2 * count_noise(multiplier, updates)) ** 2)


def next_norm(norm: float, quantile: float, multiplier: float, norms: Sequence[float], seed: bytes) -> float:
    """The norm after updates of these `norms` [updates] that were clipped to `norm`."""
    noise = whole_noise(count_noise(multiplier, len(norms)) * _GRID, seed, _NAME, 0, 1)[0] / _GRID
    share = (sum(one < SHORTER * norm for one in norms) + float(noise)) / len(norms)
    moved = norm * math.exp(-STEP * (share - quantile))
    return min(max(moved, SMALLEST), LARGEST)
