"""q-FedAvg, on the platform: w ← w - Σ F_k^q·L·(w - w_k) / Σ h_k (Li et al. 2020, arXiv 1905.10497, Algorithm 2).

Its objective is Σ F_k^(q+1)/(q+1): the larger q, the more uniform the devices' losses.
"""

from typing import ClassVar

from coterie_learning.merge import Aggregate, Finished, Merge, Reads, ServerState
from coterie_wire.tensors import Tensors

CURVATURE = "curvature"


class QFedAvg(Merge, frozen=True, tag="q_fed_avg"):
    """The mean of the updates, weighted by the devices themselves, over the mean of their h_k.

    A device that claims a high loss has a large influence on the direction of the step, but cannot make it longer than
    its update.
    """

    reads: ClassVar[Reads] = "sums"
    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "q-FedAvg"

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        curvature = aggregate.scalars[CURVATURE] or 1.0  # zero where all devices' losses are zero
        return Finished({name: tensor + aggregate[name] / curvature for name, tensor in base.items()}, state)
