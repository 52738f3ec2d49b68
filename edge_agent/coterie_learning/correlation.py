"""Noise that is correlated over the rounds of a federation: strategies of the matrix mechanism, and their sensitivity.

Round t releases X_t + σ (C⁻¹Z)_t with white noise Z, where C is lower triangular with equal diagonals (Denisov et al.
2022, arXiv 2202.08312): as private as releasing C X + σ Z, even where what devices send depends on earlier releases.
A model is a sum over rounds, in which the noise of C⁻¹ cancels out for the most part. A strategy is given by the
first column of C.
"""

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]


def banded_square_root(bands: int) -> Float64:
    """The first column [bands] of the square root of the prefix-sum matrix, truncated after `bands`.

    c_0 = 1, c_j = c_{j-1} (2j - 1) / 2j: the coefficients of (1 - x)^(-1/2) (Fichtenberger et al. 2023, arXiv
    2202.11205; truncated by Kalinin and Lampert 2024, arXiv 2405.13763).
    """
    places = np.arange(1, bands)
    return np.concatenate([[1.0], np.cumprod((2 * places - 1) / (2 * places))])


def inverse(strategy: Float64, count: int) -> Float64:
    """The first column [count] of C⁻¹: element k is the factor of the white noise of k rounds ago in a round."""
    found = np.zeros(count)
    found[0] = 1 / strategy[0]
    for place in range(1, count):
        reach = min(place, len(strategy) - 1)
        found[place] = -np.dot(strategy[1 : reach + 1], found[place - reach : place][::-1]) / strategy[0]
    return found


def sensitivity(strategy: Float64, *, rounds: int, apart: int) -> float:
    """L2 sensitivity, in clipping norms, of C X over `rounds` to a device whose parts are `apart` rounds apart or more.

    Where coefficients are nonnegative and do not rise, the worst case is participation in rounds 0, `apart`, 2 `apart`,
    … (Kalinin and Lampert 2024, arXiv 2405.13763, Theorem 2). Raises ValueError for other strategies.
    """
    if strategy[-1] < 0 or np.any(np.diff(strategy) > 0):
        raise ValueError("the strategy's coefficients rise or are negative, so that the worst pattern is not known")
    moved = np.zeros(rounds)
    for first in range(0, rounds, apart):
        reach = min(len(strategy), rounds - first)
        moved[first : first + reach] += strategy[:reach]
    return float(np.linalg.norm(moved))
