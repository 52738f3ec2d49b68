"""SCAFFOLD, on the platform: w ← w + η·mean Δ_k, c ← c + Σ(c_k⁺ - c_k)/N (Karimireddy et al. 2020, arXiv 1910.06378).

Algorithm 1. With control variates in the form of updates (see `local.scaffold`) the sum is -n·C - ΣΔ_k for n devices of
N: C ← (1 - n/N)·C - (n/N)·mean Δ_k. N is the size of the fleet, not of the round.
"""

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Aggregate, Finished, Merge, Reads, ServerState
from coterie_wire.tensors import Tensors

CONTROL = "control"


class Scaffold(Merge, frozen=True, tag="scaffold"):
    """The mean update, all devices weighted equally, and the server's control variate, sent with the version."""

    learning_rate: Annotated[float, Meta(gt=0, le=10, description="η: share of the mean update that is applied")] = 1.0
    reads: ClassVar[Reads] = "sums"
    sends: ClassVar[tuple[str, ...]] = (CONTROL,)
    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "SCAFFOLD"

    def init(self, parameters: Tensors) -> ServerState:
        return ServerState({CONTROL: {name: np.zeros_like(tensor) for name, tensor in parameters.items()}})

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        share = aggregate.cohort.share
        control = {
            name: ((1 - share) * former - share * aggregate[name]).astype(np.float32)
            for name, former in state.tensors[CONTROL].items()
        }
        parameters = {name: tensor + self.learning_rate * aggregate[name] for name, tensor in base.items()}
        return Finished(parameters, ServerState({CONTROL: control}))
