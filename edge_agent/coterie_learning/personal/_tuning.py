"""Shared by kinds that train a personal model by descent: their hyperparameters, and the scalars of a step."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_learning.local import Local, StepScalars

StepSize = Annotated[
    Annotated[float, Meta(gt=0, le=100)] | None,
    Meta(description="step size; none: that by which the rounds mean versions to be adapted, or that of the rounds"),
]
Patience = Annotated[
    int, Meta(ge=1, le=1000, description="epochs without a lower loss on the samples held out before it stops")
]
AgainShare = Annotated[
    float, Meta(gt=0, le=1, description="share of the samples that must be new before it trains a version once more")
]


def tuning_scalars(local: Local, *, learning_rate: float | None, proximal_weight: float) -> StepScalars:
    """The scalars of the rounds' first step, without a teacher."""
    scalars = msgspec.structs.replace(local.step_scalars(0), proximal_weight=proximal_weight, distillation_weight=0.0)
    rate = local.adapts_by() if learning_rate is None else learning_rate
    return scalars if rate is None else msgspec.structs.replace(scalars, learning_rate=rate)
