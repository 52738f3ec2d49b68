"""FedDyn, on the device: minimise F_k(y) - ⟨g_k, y⟩ + (α/2)·||y - w||² (Acar et al. 2021, arXiv 2111.04263).

Algorithm 1. Afterwards g_k ← g_k - α·(y - w). The state stored is g_k/α, which is minus the sum of the device's
updates; the gradient is ∇F_k(y) + α·(y - (w + g_k/α)): FedProx around a device-specific anchor.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from coterie_learning.device_state import State
from coterie_learning.local import ANCHOR, Broadcast, Ended, GraphNeeds, Trained
from coterie_learning.local._descent import Descent
from coterie_learning.local._remembering import less_what_was_sent, remembered, remembering
from coterie_wire.tensors import Tensors


class FedDyn(Descent, frozen=True, tag="fed_dyn"):
    """Descent on a dynamically regularised loss, whose optimum is the fleet's; used with the merge of the same name."""

    alpha: Annotated[
        float, Meta(gt=0, le=1000, description="α: pull to the anchor, which is to follow from the curvature of losses")
    ] = 0.1
    keep_rounds: Annotated[
        int, Meta(ge=1, le=1_000_000, description="rounds without the device after which it forgets its updates")
    ] = 100
    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "FedDyn"
    moves_together: ClassVar[bool] = True
    remembers: ClassVar[bool] = True

    def needs(self) -> GraphNeeds:
        return super().needs()._replace(per_parameter=frozenset({ANCHOR}))

    def begin(self, broadcast: Broadcast, state: State) -> Mapping[str, Tensors]:
        own = remembered(state, broadcast, keep_rounds=self.keep_rounds)
        return {ANCHOR: {name: tensor + own[name] for name, tensor in broadcast.received.items()}}

    def pull(self) -> float:
        return self.alpha

    def end(self, broadcast: Broadcast, trained: Trained, state: State) -> Ended:
        own = remembered(state, broadcast, keep_rounds=self.keep_rounds)
        return Ended(super().end(broadcast, trained, state).parts, remembering(own, broadcast))

    def remember(self, ended: Ended, sent: Callable[[], Mapping[str, Tensors]]) -> State:
        return less_what_was_sent(ended, sent)
