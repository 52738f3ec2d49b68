"""FedProx: descent on the local loss plus (mu/2)·||w - w_t||² (Li et al. 2020, arXiv 1812.06127, Algorithm 2).

The anchor w_t is the global model that the device received, wherever its training starts. The paper adds the term so
that local updates stay close to the global model when data are unlike (§3.2), and its analysis counts how well a device
solves h_k(w; w_t) (Definition 2), not from where: w_t is the same for all devices of a round, and that is what bounds
how far they part. Portions that a device got from its peers belong to its own start. Were they part of the anchor, each
device would be held to a model of its own, and the term would hold the cohort together no more.
"""

import math
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from coterie_learning.device_state import State
from coterie_learning.local import ANCHOR, Broadcast, GraphNeeds, Local, StepScalars
from coterie_wire.tensors import Tensors


class Prox(Local, frozen=True, tag="prox"):
    """Mini-batch descent that is held near the parameters that the device received; mu = 0 is `sgd`."""

    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the device's samples in one round")] = 1
    learning_rate: Annotated[float, Meta(gt=0, le=100, description="step size")] = 0.1
    momentum: Annotated[float, Meta(ge=0, lt=1, description="share of the last step kept; 0 is none")] = 0.0
    weight_decay: Annotated[float, Meta(ge=0, le=1, description="pull of every parameter to zero; 0 is none")] = 0.0
    clip_norm: Annotated[
        Annotated[float, Meta(gt=0, le=1e9)] | None,
        Meta(description="longest gradient that is followed, its L2 norm; none: any"),
    ] = None
    mu: Annotated[float, Meta(ge=0, le=1000, description="weight of the proximal term")] = 0.1

    def epochs_wanted(self) -> int:
        return self.epochs

    def needs(self) -> GraphNeeds:
        return super().needs()._replace(per_parameter=frozenset({ANCHOR}))

    def begin(self, broadcast: Broadcast, state: State) -> Mapping[str, Tensors]:  # noqa: ARG002 - it has none
        return {ANCHOR: broadcast.received}

    def weights(self, step: int) -> StepScalars:  # noqa: ARG002 - every step weighs the same
        return StepScalars(
            learning_rate=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            clip_norm=math.inf if self.clip_norm is None else self.clip_norm,
            proximal_weight=self.mu,
        )
