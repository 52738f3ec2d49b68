"""Federated multi-task learning, on the device: its own model, regularised by how the tasks are related.

Smith, Chiang, Sanjabi, Talwalkar 2017, arXiv 1705.10467 (MOCHA): min Σ_t F_t(w_t) + λ·tr(W·Ω·Wᵀ), Ω learned from the
models W = [w_1 … w_m]. In the paper losses are convex, devices solve the dual, and the platform stores W and Ω. Here
losses are those of any network, so the primal is solved: each device makes as many steps on F_t(w) + (μ/2)·||w - c_t||²
as it has time for (the paper's θ-approximate solutions), where c_t is the prediction of its model from the others'.  Ω
has the low rank of the paper's clustered tasks: with w̄ the mean and U `DIRECTIONS` orthonormal directions in which
models differ most, deviations from w̄ along U are free and all others are penalised: c_t = w̄ + U·Uᵀ·(w_t - w̄). U is
computed from sums alone, by orthogonal iteration: each device sends v·(v·u_k) of its deviation v, and Σ_t of that is
V·Vᵀ·u_k. No device's model and no pairwise relationship is visible to anybody else.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.device_state import State
from coterie_learning.flat import specs_of, unflat
from coterie_learning.local import ANCHOR, DELTA, Broadcast, Ended, GraphNeeds, Local, StepScalars, Trained
from coterie_learning.local._directions import DIRECTIONS, directions, vector_of
from coterie_learning.local._remembering import remembered, remembering
from coterie_wire.tensors import Tensors


class MultiTask(Local, frozen=True, tag="multitask"):
    """Each device trains a personal model, regularised towards the directions in which all devices' models differ.

    The device predicts with that model. A version is the mean of a round's models, from which new devices start.
    """

    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the device's samples in one round")] = 3
    learning_rate: Annotated[float, Meta(gt=0, le=100, description="step size")] = 0.1
    mu: Annotated[
        float, Meta(ge=0, le=1000, description="μ: weight of the relationship between tasks; 0: all learn alone")
    ] = 1.0
    keep_rounds: Annotated[
        int, Meta(ge=1, le=1_000_000, description="rounds without the device after which its relationship is forgotten")
    ] = 100
    parts: ClassVar[tuple[str, ...]] = (DELTA, *DIRECTIONS)
    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "MOCHA"
    remembers: ClassVar[bool] = True

    def epochs_wanted(self) -> int:
        return self.epochs

    def step_scalars(self, step: int) -> StepScalars:  # noqa: ARG002 - every step weighs the same
        return StepScalars(learning_rate=self.learning_rate, proximal_weight=self.mu)

    def needs(self) -> GraphNeeds:
        return super().needs()._replace(per_parameter=frozenset({ANCHOR}))

    def trains_personal_model(self) -> bool:
        return True

    def begin(self, broadcast: Broadcast, state: State) -> Mapping[str, Tensors]:
        apart = vector_of(remembered(state, broadcast, keep_rounds=self.keep_rounds))
        basis = directions(broadcast)
        related = unflat((basis.T @ (basis @ apart)).astype(np.float32), specs_of(broadcast.received))
        return {ANCHOR: {name: tensor + related[name] for name, tensor in broadcast.received.items()}}

    def end(self, broadcast: Broadcast, trained: Trained, state: State) -> Ended:
        delta = super().end(broadcast, trained, state).parts[DELTA]
        along = directions(broadcast) @ vector_of(delta)
        turned = {
            part: {name: tensor * np.float32(share) for name, tensor in delta.items()}
            for part, share in zip(DIRECTIONS, along, strict=True)
        }
        return Ended({DELTA: delta, **turned}, remembering(delta, broadcast))
