"""Shared by adaptive server optimisers: the mean update is a pseudo-gradient, with two moments as state.

Reddi et al. 2021, arXiv 2003.00295, Algorithm 2: m ← β₁m + (1-β₁)Δ, w ← w + η·m/(√v + τ); kinds differ in the update of
v. As in the paper, v starts at τ² and there is no bias correction of the moments.
"""

from typing import Annotated

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Aggregate, Finished, Float64, ServerState
from coterie_learning.merge._mean import MeanUpdate
from coterie_wire.tensors import Tensors


class AdaptiveServer(MeanUpdate, frozen=True):
    """A step along the mean of the updates, scaled in each parameter by the root of its second moment."""

    learning_rate: Annotated[
        float, Meta(gt=0, le=1e6, description="η: how far a parameter moves whose moments agree")
    ] = 0.03
    beta_1: Annotated[float, Meta(ge=0, lt=1, description="share of the first moment that is kept; 0 is none")] = 0.9
    adaptivity: Annotated[
        float, Meta(gt=0, le=1e6, description="τ: below it the size of updates decides, above it their sign")
    ] = 1e-3

    def second_moment(self, former: Float64, square: Float64) -> Float64:
        """The next v, from the former one and Δ²."""
        raise NotImplementedError

    def init(self, parameters: Tensors) -> ServerState:
        return ServerState(
            {
                "first_moment": {name: np.zeros_like(tensor) for name, tensor in parameters.items()},
                "second_moment": {
                    name: np.full_like(tensor, self.adaptivity**2) for name, tensor in parameters.items()
                },
            }
        )

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        first = {
            name: (self.beta_1 * moment + (1 - self.beta_1) * aggregate[name]).astype(np.float32)
            for name, moment in state.tensors["first_moment"].items()
        }
        second = {
            name: self.second_moment(moment.astype(np.float64), aggregate[name] ** 2).astype(np.float32)
            for name, moment in state.tensors["second_moment"].items()
        }
        parameters = {
            name: tensor
            + self.learning_rate * first[name].astype(np.float64) / (np.sqrt(second[name]) + self.adaptivity)
            for name, tensor in base.items()
        }
        return Finished(parameters, ServerState({"first_moment": first, "second_moment": second}))
