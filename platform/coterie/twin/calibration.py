"""Calibration of forecasts: the error of their median, and the coverage of their intervals."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

STATED = 0.8
"""Nominal coverage of an interval."""
LEAST_COVERAGE = 0.65
"""Least coverage at which forecasts are believed."""
LATEST, LEAST = 50, 10
"""Most and least rounds for a calibration."""


class ComparedForecast(NamedTuple):
    """A forecast figure, and the actual value."""

    low: float
    middle: float
    high: float
    happened: float

    @property
    def is_inside(self) -> bool:
        """Whether the actual value was in the interval."""
        return self.low <= self.happened <= self.high


class Calibration(NamedTuple):
    """Calibration of one figure over the latest rounds."""

    rounds: int
    median_error: float | None
    """Error of the median, as a share of the actual value; None: no rounds, or all values were 0."""
    coverage: float | None
    """Share of rounds inside the interval; nominal: 0.8."""
    is_believed: bool
    sentence: str


def calibrated(judged: Sequence[ComparedForecast]) -> Calibration:
    """Calibration by `judged`, oldest first."""
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
