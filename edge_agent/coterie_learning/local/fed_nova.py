"""FedNova, on the device: Δ_k/‖a_k‖₁ and ‖a_k‖₁ are sent (Wang et al. 2020, arXiv 2007.07481, equations 5 and 13).

a_k holds the weight of each gradient in the update: ‖a_k‖₁ is τ for τ plain steps, (τ - ρ(1 - ρ^τ)/(1 - ρ))/(1 - ρ)
with momentum ρ, and (1 - (1 - lr·μ)^τ)/(lr·μ) with the proximal term.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.device_state import State
from coterie_learning.local import ANCHOR, DELTA, Broadcast, Ended, GraphNeeds, Local, StepScalars, Trained
from coterie_wire.tensors import Tensors

NORMALISER = "normaliser"


class FedNova(Local, frozen=True, tag="fed_nova"):
    """Descent whose update is normalised by the number of steps; used with the merge of the same name.

    A device that makes more steps than others does not weigh more.
    """

    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the device's samples in one round")] = 1
    learning_rate: Annotated[float, Meta(gt=0, le=100, description="step size")] = 0.1
    momentum: Annotated[float, Meta(ge=0, lt=1, description="ρ: share of the last step kept; 0 is none")] = 0.0
    mu: Annotated[
        float, Meta(ge=0, le=1000, description="weight of the proximal term, without momentum; 0 is none")
    ] = 0.0
    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "FedNova"
    scalars: ClassVar[tuple[str, ...]] = (NORMALISER,)
    compared: ClassVar[tuple[str, ...]] = (NORMALISER,)

    def __post_init__(self) -> None:
        if self.momentum and self.mu:
            raise ValueError("momentum and mu do not go together: nobody knows how such steps are normalised")
        if self.learning_rate * self.mu > 1:
            raise ValueError(f"learning_rate · mu is {self.learning_rate * self.mu:g}; above 1 steps overshoot")

    def epochs_wanted(self) -> int:
        return self.epochs

    def needs(self) -> GraphNeeds:
        return super().needs()._replace(per_parameter=frozenset({ANCHOR}), plain_descent=True)

    def begin(self, broadcast: Broadcast, state: State) -> Mapping[str, Tensors]:  # noqa: ARG002 - it has none
        return {ANCHOR: broadcast.received}

    def step_scalars(self, step: int) -> StepScalars:  # noqa: ARG002 - every step weighs the same
        return StepScalars(learning_rate=self.learning_rate, momentum=self.momentum, proximal_weight=self.mu)

    def end(self, broadcast: Broadcast, trained: Trained, state: State) -> Ended:
        normaliser = np.float32(self.normaliser(trained.steps))
        update = super().end(broadcast, trained, state).parts[DELTA]
        parts = {DELTA: {name: tensor / normaliser for name, tensor in update.items()}}
        return Ended(parts, state, {NORMALISER: float(normaliser)})

    def normaliser(self, steps: int) -> float:
        """‖a‖₁ of this number of steps."""
        if self.momentum:
            kept = self.momentum
            return (steps - kept * (1 - kept**steps) / (1 - kept)) / (1 - kept)
        if self.mu:
            pull = self.learning_rate * self.mu
            return float((1 - (1 - pull) ** steps) / pull)
        return float(steps)
