"""Privacy accounting for Gaussian noise, in pure arithmetic, so that a device needs no library for it.

Releases compose as μ² = Σ (participations/z)² (Dong et al. 2019, arXiv 1905.02383, Corollary 3.3). The total is
reported as an exact epsilon at a given delta (Balle and Wang 2018, arXiv 1805.06530, Theorem 8).
"""

import math

ROUNDING = 1e-9
"""Share by which a sum of costs may exceed a budget, because sums of float64 are rounded."""
_TURNS = 200
_TAIL = -10.0
"""Below it the logarithm of Φ is taken from its asymptotic series."""
_LARGEST_MU = 1e4


def epsilon_of(mu2: float, delta: float) -> float:
    """Epsilon at `delta`, in (0, 1), of costs that sum to `mu2`; infinite where it is too large to be useful."""
    if mu2 > _LARGEST_MU**2:
        return math.inf
    if mu2 <= 0 or _delta(math.sqrt(mu2), 0.0) <= delta:
        return 0.0
    mu, low, high = math.sqrt(mu2), 0.0, 1.0
    while _delta(mu, high) > delta:
        low, high = high, 2 * high
    for _ in range(_TURNS):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(mu, middle) > delta else (low, middle)
    return high


def largest_mu2(epsilon: float, delta: float) -> float:
    """The largest μ² whose epsilon at `delta`, in (0, 1), is at most `epsilon`, which is not negative."""
    low, high = 0.0, _LARGEST_MU
    for _ in range(_TURNS):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(middle, epsilon) <= delta else (low, middle)
    return low * low


def cost_of(noise_multiplier: float, participations: int = 1) -> float:
    """μ² of one release to each device in it."""
    return (participations / noise_multiplier) ** 2


def is_affordable(most: float, spent: float, cost: float) -> bool:
    """Whether a budget of `most` pays for one more release at `cost`."""
    return spent + cost <= most * (1 + ROUNDING)


def _delta(mu: float, epsilon: float) -> float:
    """δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""
    if mu == 0:
        return 0.0
    first, second = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return math.exp(_log_phi(first)) - math.exp(epsilon + _log_phi(second))


def _log_phi(x: float) -> float:
    """log Φ(x)."""
    if x > _TAIL:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2)))
    inverse = 1 / (x * x)
    series = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse)))
    return -x * x / 2 - math.log(-x) - 0.5 * math.log(2 * math.pi) + math.log(series)
