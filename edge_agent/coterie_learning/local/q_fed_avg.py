"""q-FedAvg, on the device: F_k^q·Δ_k, F_k^q and h_k are sent (Li et al. 2020, arXiv 1905.10497, Algorithm 2).

F_k is the loss of the received model over the device's training samples, plus 10^-10. The paper sends
L·F_k^q·(w - w_k) and q·F_k^(q-1)·‖L·(w - w_k)‖² + L·F_k^q with L = 1/lr; both are divided by L here, which changes no
result, and F_k^q is sent too, so that updates can be compared without this weight.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.device_state import State
from coterie_learning.local import DELTA, Broadcast, Ended, Local, StepScalars, Trained
from coterie_wire.errors import WireError

WEIGHT, CURVATURE = "weight", "curvature"
LEAST_LOSS = 1e-10
LEAST_WEIGHT = 1e-20
"""Least weight of a device, for losses near zero; representable in float32."""


class QFedAvg(Local, frozen=True, tag="q_fed_avg"):
    """Descent whose update is weighted by the device's loss to the power of q; used with the merge of the same name."""

    q: Annotated[
        float, Meta(ge=0, le=20, description="how much devices with a high loss count; 0: all the same, as in FedAvg")
    ] = 1.0
    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the device's samples in one round")] = 1
    learning_rate: Annotated[float, Meta(gt=0, le=100, description="step size, tuned with q = 0")] = 0.1
    loss_scale: Annotated[
        float, Meta(gt=0, le=1e6, description="unit of the loss; changes no result, but keeps large powers in range")
    ] = 1.0
    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "q-FedAvg"
    scalars: ClassVar[tuple[str, ...]] = (WEIGHT, CURVATURE)

    def epochs_wanted(self) -> int:
        return self.epochs

    def step_scalars(self, step: int) -> StepScalars:  # noqa: ARG002 - every step weighs the same
        return StepScalars(learning_rate=self.learning_rate)

    def needs_loss(self) -> bool:
        return True

    def end(self, broadcast: Broadcast, trained: Trained, state: State) -> Ended:
        assert trained.loss is not None, "it needs the loss"
        loss = (trained.loss + LEAST_LOSS) / self.loss_scale
        update = super().end(broadcast, trained, state).parts[DELTA]
        square = math.fsum(float(np.sum(tensor.astype(np.float64) ** 2)) for tensor in update.values())
        weight = np.float32(max(loss**self.q, LEAST_WEIGHT))
        slope = self.q * loss ** (self.q - 1) / self.loss_scale
        scalars = {WEIGHT: float(weight), CURVATURE: float(weight) + slope * square / self.learning_rate}
        return Ended({DELTA: {name: weight * tensor for name, tensor in update.items()}}, state, scalars)

    def scale(self, scalars: Mapping[str, float]) -> float:
        if not 0 < scalars[WEIGHT] <= scalars[CURVATURE]:
            detail = (
                f"its weight is {scalars[WEIGHT]:g} and its curvature {scalars[CURVATURE]:g}, which is at least that"
            )
            raise WireError("update.out_of_range", detail)
        return scalars[WEIGHT]
