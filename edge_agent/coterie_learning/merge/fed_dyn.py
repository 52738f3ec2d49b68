"""FedDyn, on the platform: h ← h - (α/N)·ΣΔ_k, w ← mean w_k - h/α (Acar et al. 2021, arXiv 2111.04263, Algorithm 1).

What is remembered is h/α, the fleet's mean of what devices remember (see `local.fed_dyn`); α is theirs alone. N is the
fleet, not the round.
"""

from typing import ClassVar

import numpy as np

from coterie_learning.merge import Aggregate, Finished, Merge, Reads, ServerState
from coterie_wire.tensors import Tensors

DUAL = "dual"


class FedDyn(Merge, frozen=True, tag="fed_dyn"):
    """The mean update, each device counted once, and besides the sum of all updates so far over the fleet."""

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
