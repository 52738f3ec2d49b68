"""How good forecasts were: the error of their middle, and how many rounds lay in their intervals."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

STATED = 0.8
"""Share of rounds that an interval says lie in it."""
LEAST_COVERAGE = 0.65
"""Below, forecasts are not to be believed."""
LATEST, LEAST = 50, 10
"""Rounds that are judged by, at most and at least."""


class ComparedForecast(NamedTuple):
    """A forecast figure, and what came."""

    low: float
    middle: float
    high: float
    happened: float

    @property
    def is_inside(self) -> bool:
        """Whether it lay in the interval."""
        return self.low <= self.happened <= self.high


class Calibration(NamedTuple):
    """Of one figure over the latest rounds."""

    rounds: int
    median_error: float | None
    """Of the middle, as a share of what happened; None: nothing was judged, or all was 0."""
    coverage: float | None
    """Share of rounds inside the interval; 0.8 is what it says."""
    is_believed: bool
    sentence: str


def calibrated(judged: Sequence[ComparedForecast]) -> Calibration:
    """Of `judged`, oldest first."""
    latest = judged[-LATEST:]
    if len(latest) < LEAST:
        return Calibration(
            len(latest), None, None, False, f"{len(latest)} forecasts were compared so far; {LEAST} are needed."
        )
    errors = [abs(one.middle - one.happened) / one.happened for one in latest if one.happened]
    coverage = sum(one.is_inside for one in latest) / len(latest)
    error = median(errors) if errors else None
    told = f"{coverage:.0%} of {len(latest)} rounds lay where {STATED:.0%} should"
    if error is not None:
        told += f"; the middle was off by {error:.0%}"
    if coverage < LEAST_COVERAGE:
        return Calibration(
            len(latest), error, coverage, False, f"{told}. The fleet does not do what it did: do not rely on forecasts."
        )
    return Calibration(len(latest), error, coverage, True, f"{told}.")
