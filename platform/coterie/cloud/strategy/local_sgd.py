"""Local SGD: workers train by themselves for some steps, then their models are averaged.

Stich 2019 (arXiv 1805.09767); the period that falls with the loss is AdaComm's, Wang & Joshi 2019 (SysML, arXiv
1810.08313), with intervals counted in steps, so that a run can be repeated. A long period loses accuracy where the
workers' samples differ; the adaptive one gains little where averaging costs little.
"""

import math
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.cloud.strategy import Strategy
from coterie.cloud.strategy._workers import Workers


class LocalSgd(Strategy, frozen=True, tag="local_sgd"):
    """Workers train by themselves, and their models are averaged every so many steps and after each epoch."""

    work = "coterie.cloud.gang:train_by_gang"
    member = "coterie.cloud.local_sgd:train_rank"
    spreads = True

    workers: Workers = 2
    period: Annotated[
        int, Meta(ge=1, le=100_000, description="steps between two averagings; the first, if adaptive")
    ] = 20
    adaptive: Annotated[bool, Meta(description="shorten the period as the loss falls (AdaComm)")] = True
    interval_steps: Annotated[
        int, Meta(ge=1, le=1_000_000, description="steps after which an adaptive period is chosen anew")
    ] = 100
    decay: Annotated[
        float, Meta(gt=0, le=1, description="factor of an adaptive period where the loss alone would not shorten it")
    ] = 0.5

    @property
    def count(self) -> int:
        return self.workers

    def begin(self) -> "Period":
        """The period before any loss is known."""
        return Period(self.period)

    def renew(self, period: "Period", loss: float) -> "Period":
        """The period of the next interval, from the mean training `loss` of the last one."""
        if not self.adaptive or not math.isfinite(loss):
            return period
        if period.first_loss is None:
            return Period(period.steps, first_loss=loss)
        return Period(next_period(self.period, period.steps, loss, period.first_loss, self.decay), period.first_loss)


class Period(msgspec.Struct, frozen=True):
    """How often models are averaged."""

    steps: int
    first_loss: float | None = None
    """The mean training loss of the first interval."""


def next_period(first: int, current: int, loss: float, first_loss: float, decay: float) -> int:
    """AdaComm's rule, equation 17 and its refinement: `first` times the root of the loss's ratio, but never longer.

    Where that is no shorter than `current`, it is `current` times `decay`; at least 1.
    """
    basic = math.ceil(math.sqrt(max(loss, 0.0) / first_loss) * first) if first_loss > 0 else 1
    return max(1, basic if basic < current else math.ceil(decay * current))
