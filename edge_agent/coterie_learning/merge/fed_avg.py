"""Federated averaging: w + lr · (Σ n_k Δ_k / Σ n_k).

McMahan et al. 2017, arXiv 1602.05629, Algorithm 1; as a step of the server: Reddi et al. 2021, arXiv 2003.00295, §2.
"""

from typing import Annotated

from msgspec import Meta

from coterie_learning.merge import Aggregate, Finished, ServerState
from coterie_learning.merge._mean import MeanUpdate
from coterie_wire.tensors import Tensors


class FedAvg(MeanUpdate, frozen=True, tag="fed_avg"):
    """The mean of the updates, added to the base."""

    learning_rate: Annotated[
        float, Meta(gt=0, le=10, description="share of the mean update that is applied; 1 is plain averaging")
    ] = 1.0

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        return Finished({name: tensor + self.learning_rate * aggregate[name] for name, tensor in base.items()}, state)
