"""Stochastic gradient descent: the local solver of FedAvg (McMahan et al. 2017, arXiv 1602.05629, Algorithm 1)."""

import math
from typing import Annotated

from msgspec import Meta

from coterie_learning.local import Local, StepScalars


class Sgd(Local, frozen=True, tag="sgd"):
    """Plain epochs of mini-batch descent on the device's own samples."""

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

    def weights(self, step: int) -> StepScalars:  # noqa: ARG002 - every step weighs the same
        return StepScalars(
            learning_rate=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            clip_norm=math.inf if self.clip_norm is None else self.clip_norm,
        )
