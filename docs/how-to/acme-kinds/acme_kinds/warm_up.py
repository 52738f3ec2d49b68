"""Descent whose first steps of a round are shorter: gradual warm-up (Goyal et al. 2017, arXiv 1706.02677, §2.2)."""

from typing import Annotated

from msgspec import Meta

from coterie_learning.local import Local, StepScalars


class WarmUp(Local, frozen=True, tag="acme_warm_up"):
    """The step size grows linearly over the first steps of each round, then stays."""

    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the device's samples in one round")] = 1
    learning_rate: Annotated[float, Meta(gt=0, le=100, description="step size after the warm-up")] = 0.1
    warm_up_steps: Annotated[
        int, Meta(ge=1, le=100_000, description="step from which on it is that large; 1: all are")
    ] = 5

    def epochs_wanted(self) -> int:
        return self.epochs

    def step_scalars(self, step: int) -> StepScalars:
        return StepScalars(learning_rate=self.learning_rate * min(1.0, (step + 1) / self.warm_up_steps))
