"""FedDyn, on the platform: h ← h - (α/N)·ΣΔ_k, w ← mean w_k - h/α (Acar et al. 2021, arXiv 2111.04263, Algorithm 1).

The state is h/α, the fleet's mean of the devices' states (see `local.fed_dyn`); α is a hyperparameter of the local kind
only. N is the size of the fleet, not of the round.
"""

from typing import ClassVar

import numpy as np

from coterie_learning.merge import Aggregate, Finished, Merge, Reads, ServerState
from coterie_wire.tensors import Tensors

DUAL = "dual"


class FedDyn(Merge, frozen=True, tag="fed_dyn"):
    """The mean update, all devices weighted equally, plus the sum of all updates so far divided by the fleet's size."""

    reads: ClassVar[Reads] = "sums"
    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "FedDyn"

    def init(self, parameters: Tensors) -> ServerState:
        return ServerState({DUAL: {name: np.zeros_like(tensor) for name, tensor in parameters.items()}})

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        dual = {
            name: (former - aggregate.cohort.share * aggregate[name]).astype(np.float32)
            for name, former in state.tensors[DUAL].items()
        }
        parameters = {name: tensor + aggregate[name] - dual[name] for name, tensor in base.items()}
        return Finished(parameters, ServerState({DUAL: dual}))
