"""Shared by kinds of mini-batch descent with the same scalars in every step: hyperparameters and scalars."""

import math
from typing import Annotated

from msgspec import Meta

from coterie_learning.local import Local, StepScalars


class Descent(Local, frozen=True):
    """Epochs of mini-batch descent on the device's own samples."""

    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the device's samples in one round")] = 1
    learning_rate: Annotated[float, Meta(gt=0, le=100, description="step size")] = 0.1
    momentum: Annotated[float, Meta(ge=0, lt=1, description="share of the last step kept; 0 is none")] = 0.0
    weight_decay: Annotated[float, Meta(ge=0, le=1, description="pull of every parameter to zero; 0 is none")] = 0.0
    clip_norm: Annotated[
        Annotated[float, Meta(gt=0, le=1e9)] | None,
        Meta(description="longest gradient that is followed, its L2 norm; none: any"),
    ] = None

    def epochs_wanted(self) -> int:
        return self.epochs

    def step_scalars(self, step: int) -> StepScalars:  # noqa: ARG002 - every step weighs the same
        return StepScalars(
            learning_rate=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            clip_norm=math.inf if self.clip_norm is None else self.clip_norm,
            proximal_weight=self.pull(),
        )

    def pull(self) -> float:
        """μ, the weight of the proximal term."""
        return 0.0
