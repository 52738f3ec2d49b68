"""FedProx: descent on the local loss plus (mu/2)·||w - w_t||² (Li et al. 2020, arXiv 1812.06127, Algorithm 2).

The anchor w_t is the global model that the device received, whatever its training starts from. The paper adds the term
so that local updates stay close to the global model when data are heterogeneous (§3.2), and its analysis depends on how
well a device solves h_k(w; w_t) (Definition 2), not on its start: w_t is the same for all devices of a round, which
bounds how far they diverge. Portions that a device received from peers are part of its start only. If they were part of
the anchor, each device would have a different anchor, and the term would no longer keep the cohort together.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from coterie_learning.device_state import State
from coterie_learning.local import ANCHOR, Broadcast, GraphNeeds
from coterie_learning.local._descent import Descent
from coterie_wire.tensors import Tensors


class Prox(Descent, frozen=True, tag="prox"):
    """Mini-batch descent with a proximal term around the received parameters; mu = 0 is `sgd`."""

    mu: Annotated[float, Meta(ge=0, le=1000, description="weight of the proximal term")] = 0.1

    def needs(self) -> GraphNeeds:
        return super().needs()._replace(per_parameter=frozenset({ANCHOR}))

    def begin(self, broadcast: Broadcast, state: State) -> Mapping[str, Tensors]:  # noqa: ARG002 - it has none
        return {ANCHOR: broadcast.received}

    def pull(self) -> float:
        return self.mu
