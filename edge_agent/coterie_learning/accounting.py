"""What Gaussian noise is worth, in pure arithmetic: a device keeps account of what it has told without any library.

Releases add up in μ² = Σ (participations/z)² (Dong et al. 2019, arXiv 1905.02383, Corollary 3.3); what they amount to
is told as epsilon at a delta, exactly (Balle and Wang 2018, arXiv 1805.06530, Theorem 8).
"""

import math

ROUNDING = 1e-9
"""By what share a sum of costs may exceed a budget: they are sums of float64."""
_TURNS = 200
_TAIL = -10.0
"""Below it the logarithm of Φ is taken from its asymptotic series."""
_LARGEST_MU = 1e4


def epsilon_of(mu2: float, delta: float) -> float:
    """What costs of `mu2` in all amount to at `delta`, of (0, 1); infinite where they are beyond any use."""
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


def most_of(epsilon: float, delta: float) -> float:
    """The largest μ² that amounts to no more than `epsilon`, 0 or above, at `delta`, of (0, 1)."""
    low, high = 0.0, _LARGEST_MU
    for _ in range(_TURNS):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(middle, epsilon) <= delta else (low, middle)
    return low * low


def cost_of(noise_multiplier: float, participations: int = 1) -> float:
    """μ² of one release to each device in it."""
    return (participations / noise_multiplier) ** 2


def pays(most: float, spent: float, cost: float) -> bool:
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
