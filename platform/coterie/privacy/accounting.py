"""From noise to epsilon and back, by Google's accountant.

A device's part in a release is one Gaussian mechanism; any number of them, adaptively chosen, are together exactly one
whose squared means add up: μ² = Σ (participations/z)² (Dong et al. 2019, arXiv 1905.02383, Corollary 3.3). The ledger
therefore counts in μ², a number that is added, and tells people epsilon at a delta, exactly (Balle and Wang 2018, arXiv
1805.06530, Theorem 8). No amplification by sampling is counted, whatever a kind may say: devices take part when they
can.
"""

import math
from functools import lru_cache

from coterie_learning.privacy import Spend

ROUNDING = 1e-9
"""The relative tolerance by which a sum of costs may exceed a budget, because of float64 rounding."""


def cost_of(spend: Spend) -> float:
    """μ² of one release to each device in it."""
    return (spend.participations / spend.noise_multiplier) ** 2


@lru_cache(maxsize=4096)
def epsilon_of(mu2: float, delta: float) -> float:
    """The epsilon of a total cost `mu2` at `delta`, in (0, 1)."""
    if mu2 <= 0:
        return 0.0
    from dp_accounting import get_epsilon_gaussian  # only now: SciPy takes a second to import

    return float(get_epsilon_gaussian(1 / math.sqrt(mu2), delta))


@lru_cache(maxsize=4096)
def most_of(epsilon: float, delta: float) -> float:
    """The largest μ² whose epsilon is at most `epsilon` (> 0) at `delta`, in (0, 1)."""
    from dp_accounting import get_sigma_gaussian  # see above

    return float(get_sigma_gaussian(epsilon, delta)) ** -2


def releases_left(most: float, spent: float, cost: float) -> int:
    """How many more releases at `cost` each a budget of `most` covers."""
    return max(0, math.floor((most * (1 + ROUNDING) - spent) / cost))
