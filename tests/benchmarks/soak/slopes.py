"""How fast something grew, and how sure that is: a line through the means of blocks of time, with Student's interval.

Samples of one process follow from one another, and what is tidied each minute goes up and down with it, so that single
samples would make an interval too narrow; means of blocks of many minutes are nearly independent.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

BLOCKS = 10
QUANTILE = 2.306
"""Of Student's distribution with `BLOCKS` - 2 degrees of freedom, for an interval that is right 95 times of 100."""
HOUR_S = 3600.0


class Slope(NamedTuple):
    """Of something that was sampled."""

    mean: float
    per_hour: float
    within: float
    """With a confidence of 95 % the slope is no further than this from `per_hour`."""


def slope_of(at_s: Sequence[float], values: Sequence[float]) -> Slope:
    """Of `values` at the seconds `at_s`, both [n] with n >= `BLOCKS`, ascending in time."""
    hours = np.array([block.mean() for block in np.array_split(np.asarray(at_s), BLOCKS)]) / HOUR_S
    means = np.array([block.mean() for block in np.array_split(np.asarray(values, dtype=np.float64), BLOCKS)])
    apart = hours - hours.mean()
    per_hour = float(apart @ means / (apart @ apart))
    left = means - means.mean() - per_hour * apart
    deviation = float(np.sqrt(left @ left / (BLOCKS - 2) / (apart @ apart)))
    return Slope(float(means.mean()), per_hour, QUANTILE * deviation)
