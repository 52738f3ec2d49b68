"""A control chart of the device's error rate: drift is an error rate above the limit computed from its own past.

The p' chart (Laney 2002, doi 10.1081/QEN-120006555): Shewhart's limits for a share, widened by as much as past batches
varied more than chance explains. Labels arrive in bursts, so that batches of one person vary far more than chance.
"""

import math
from typing import Annotated, ClassVar

from msgspec import Meta

from coterie_learning.drift import Detector, DriftState, Observed, error_rate


class ControlChart(Detector, frozen=True, tag="control_chart"):
    """Drift is a mean error of the newest batches above that of the earlier ones by more than usual variation."""

    since: ClassVar[str] = "0.2"

    deviations: Annotated[
        float, Meta(gt=0, le=100, description="standard deviations of the own past by which the error must exceed it")
    ] = 4.0
    batches: Annotated[int, Meta(ge=1, le=1000, description="newest batches over which the error is averaged")] = 2
    past_batches: Annotated[
        int, Meta(ge=2, le=1000, description="batches before them that it is compared with; half of them at least")
    ] = 20

    def begin(self) -> "ControlChartState":
        return ControlChartState(self)


class ControlChartState(DriftState, frozen=True, tag="control_chart"):
    """The newest batches, oldest first: samples, and wrong ones."""

    settings: ControlChart
    kept: tuple[tuple[int, int], ...] = ()

    def observe(self, wrong: int, samples: int) -> Observed:
        error_rate(wrong, samples)
        newest, before = self.settings.batches, self.settings.past_batches
        kept = (*self.kept, (samples, wrong))[-(newest + before) :]
        past = kept[:-newest]
        drifted = len(past) >= max(2, before / 2) and self._exceeds(kept[-newest:], past)
        return Observed(ControlChartState(self.settings, kept), drifted)

    def _exceeds(self, newest: tuple[tuple[int, int], ...], past: tuple[tuple[int, int], ...]) -> bool:
        samples, wrong = (sum(batch[part] for batch in newest) for part in (0, 1))
        past_samples, past_wrong = (sum(batch[part] for batch in past) for part in (0, 1))
        # Laplace's rule of succession: an error that never occurred is not impossible.
        usual = (past_wrong + 1) / (past_samples + 2)
        chance = usual * (1 - usual)
        squares = sum((one_wrong - one * usual) ** 2 / (one * chance) for one, one_wrong in past)
        variation = max(1.0, squares / (len(past) - 1))
        spread = math.sqrt(variation * chance * (1 / samples + 1 / past_samples))
        # Half a sample: counts are whole, and their distribution is skewed where errors are rare.
        return (wrong - 0.5) / samples > usual + self.settings.deviations * spread
