"""Federated averaging: w + lr · (Σ n_k Δ_k / Σ n_k).

McMahan et al. 2017, arXiv 1602.05629, Algorithm 1; as a step of the server: Reddi et al. 2021, arXiv 2003.00295, §2.
"""

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Averaging, Contribution
from coterie_learning.weighted_sum import WeightedSum, add_sums, add_weighted, empty_sum
from coterie_wire.tensors import Tensors


class FedAvg(Averaging, frozen=True, tag="fed_avg"):
    """The mean of the updates, added to the base."""

    weight_by: Annotated[
        Literal["samples", "uniform"], Meta(description="whether an update counts by its training samples or once")
    ] = "samples"
    learning_rate: Annotated[
        float, Meta(gt=0, le=10, description="share of the mean update that is applied; 1 is plain averaging")
    ] = 1.0

    def init(self, base: Tensors) -> WeightedSum:
        return empty_sum(base)

    def add(self, state: WeightedSum, contribution: Contribution) -> WeightedSum:
        weight = contribution.samples if self.weight_by == "samples" else 1
        return add_weighted(state, contribution.update, float(weight))

    def combine(self, left: WeightedSum, right: WeightedSum) -> WeightedSum:
        return add_sums(left, right)

    def finish(self, state: WeightedSum, base: Tensors) -> Tensors:
        factor = self.learning_rate / state.weight
        return {
            name: (tensor + factor * state.sums[name].reshape(tensor.shape)).astype(np.float32)
            for name, tensor in base.items()
        }
