"""A clipping norm that follows a quantile of the updates' norms (Andrew et al. 2021, arXiv 1905.03871).

In each round the share of updates that are no longer than the norm is released under noise, and the norm moves towards
where that share is the quantile.
"""

import math
from collections.abc import Sequence

from coterie_learning.noise import whole_noise

STEP = 0.2
"""Of the logarithm of the norm, for each unit by which the share is off."""
COUNT_NOISE = 0.05
"""Standard deviation of the noise on the count of updates, as a share of them."""
SHORTER = 0.99
"""Share of the norm that an update is shorter than if it was not clipped: codecs round what was."""
SMALLEST, LARGEST = 1e-6, 1e3
_GRID = 1 << 20
_NAME = "shorter"
"""Of what the noise is drawn for; parts of models have a dot in theirs."""


def count_noise(multiplier: float, updates: int) -> float:
    """Standard deviation of the noise on the count, large enough for both noises together to be of `multiplier`."""
    return max(COUNT_NOISE * updates, multiplier)


def sum_multiplier(multiplier: float, updates: int) -> float:
    """z of the sum, so that sum and count together tell what a sum under noise of `multiplier` does.

    (z⁻² - (2σ)⁻²)^(-1/2) with σ of the count: counted as 1/2 and -1/2, a device moves it by 1/2 (Theorem 1).
    """
    return 1 / math.sqrt(1 / multiplier**2 - 1 / (2 * count_noise(multiplier, updates)) ** 2)


def next_norm(norm: float, quantile: float, multiplier: float, norms: Sequence[float], seed: bytes) -> float:
    """The norm after updates of these `norms` [updates] that were clipped to `norm`."""
    noise = whole_noise(count_noise(multiplier, len(norms)) * _GRID, seed, _NAME, 0, 1)[0] / _GRID
    share = (sum(one < SHORTER * norm for one in norms) + float(noise)) / len(norms)
    moved = norm * math.exp(-STEP * (share - quantile))
    return min(max(moved, SMALLEST), LARGEST)
