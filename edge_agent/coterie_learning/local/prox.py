"""FedProx: descent on the local loss plus (mu/2)·||w - w_t||² (Li et al. 2020, arXiv 1812.06127, Algorithm 2).

The anchor w_t is the global model that the device received, wherever its training starts. The paper adds the term so
that local updates stay close to the global model when data are unlike (§3.2), and its analysis counts how well a device
solves h_k(w; w_t) (Definition 2), not from where: w_t is the same for all devices of a round, and that is what bounds
how far they part. Portions that a device got from its peers belong to its own start. Were they part of the anchor, each
device would be held to a model of its own, and the term would hold the cohort together no more.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from coterie_learning.device_state import State
from coterie_learning.local import ANCHOR, Broadcast, GraphNeeds
from coterie_learning.local._descent import Descent
from coterie_wire.tensors import Tensors


class Prox(Descent, frozen=True, tag="prox"):
    """Mini-batch descent that is held near the parameters that the device received; mu = 0 is `sgd`."""

    mu: Annotated[float, Meta(ge=0, le=1000, description="weight of the proximal term")] = 0.1

    def needs(self) -> GraphNeeds:
        return super().needs()._replace(per_parameter=frozenset({ANCHOR}))

    def begin(self, broadcast: Broadcast, state: State) -> Mapping[str, Tensors]:  # noqa: ARG002 - it has none
        return {ANCHOR: broadcast.received}

    def pull(self) -> float:
        return self.mu
