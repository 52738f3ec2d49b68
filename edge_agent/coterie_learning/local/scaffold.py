"""SCAFFOLD, on the device: y ← y - lr·(∇F_k(y) + c - c_k) (Karimireddy et al. 2020, arXiv 1910.06378, Algorithm 1).

Afterwards c_k ← c_k - c + (w - y)/(K·lr), option II. Control variates are stored and sent as C = K·lr·c, the update
that they amount to in a round. Then C_k ← C_k - C - Δ_k, and the platform derives the sum of the changes from the sum
of the updates: uploads are no larger than FedAvg's, where the paper's devices also send c_k.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.device_state import State
from coterie_learning.local import ANCHOR, DELTA, Broadcast, Ended, GraphNeeds, Local, StepScalars, Trained
from coterie_learning.local._linear import WEIGHT, anchor_of
from coterie_learning.local._remembering import less_what_was_sent, remembered, remembering
from coterie_wire.tensors import Tensors

CONTROL = "control"


class Scaffold(Local, frozen=True, tag="scaffold"):
    """Descent corrected by control variates for client drift; used with the merge of the same name.

    All devices make the same number of steps, however many samples they have. The update of a device that ran out of
    time is extrapolated to the full number of steps: c_k is the mean of its steps.
    """

    steps: Annotated[int, Meta(ge=1, le=100_000, description="optimisation steps in one round, the paper's K")] = 10
    learning_rate: Annotated[float, Meta(gt=0, le=100, description="step size")] = 0.1
    keep_rounds: Annotated[
        int, Meta(ge=1, le=1_000_000, description="rounds without the device after which it forgets its control")
    ] = 100
    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "SCAFFOLD"
    moves_together: ClassVar[bool] = True
    remembers: ClassVar[bool] = True

    def epochs_wanted(self) -> int:
        return 1

    def steps_wanted(self, epoch: int) -> int:  # noqa: ARG002 - all devices make the same number
        return self.steps

    def needs(self) -> GraphNeeds:
        return super().needs()._replace(per_parameter=frozenset({ANCHOR}), plain_descent=True)

    def begin(self, broadcast: Broadcast, state: State) -> Mapping[str, Tensors]:
        factor = np.float32(1 / (self.steps * self.learning_rate))
        ahead = self._ahead(broadcast, state)
        return {ANCHOR: anchor_of(broadcast.received, {name: -factor * tensor for name, tensor in ahead.items()})}

    def step_scalars(self, step: int) -> StepScalars:  # noqa: ARG002 - every step weighs the same
        return StepScalars(learning_rate=self.learning_rate, proximal_weight=WEIGHT)

    def end(self, broadcast: Broadcast, trained: Trained, state: State) -> Ended:
        update = super().end(broadcast, trained, state).parts[DELTA]
        if trained.steps != self.steps:
            pace = np.float32(self.steps / trained.steps)
            update = {name: tensor * pace for name, tensor in update.items()}
        return Ended({DELTA: update}, remembering(self._ahead(broadcast, state), broadcast))

    def remember(self, ended: Ended, sent: Callable[[], Mapping[str, Tensors]]) -> State:
        return less_what_was_sent(ended, sent)

    def _ahead(self, broadcast: Broadcast, state: State) -> Tensors:
        """C_k - C: the difference of the device's and the fleet's control variates, with the sign of a gradient."""
        own = remembered(state, broadcast, keep_rounds=self.keep_rounds)
        control = broadcast.server.get(CONTROL)
        return own if control is None else {name: tensor - control[name] for name, tensor in own.items()}
