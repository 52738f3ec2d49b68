"""Adam on the server: the mean update is a gradient, of which two moments are remembered from round to round.

Reddi et al. 2021, arXiv 2003.00295, Algorithm 2 (FedAdam): m ← β₁m + (1-β₁)Δ, v ← β₂v + (1-β₂)Δ², w ← w + η·m/(√v + τ).
As there, v begins with τ² and neither moment is corrected for its beginning.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Finished, Float64, Merge, Reads, ServerState
from coterie_wire.tensors import Tensors


class FedAdam(Merge, frozen=True, tag="fed_adam"):
    """A step of Adam along the mean of the updates; it remembers two numbers for each parameter."""

    weight_by: Annotated[
        Literal["samples", "uniform"], Meta(description="whether an update counts by its training samples or once")
    ] = "samples"
    learning_rate: Annotated[
        float, Meta(gt=0, le=1e6, description="η: how far a parameter moves whose moments agree")
    ] = 0.03
    beta_1: Annotated[float, Meta(ge=0, lt=1, description="share of the first moment that is kept; 0 is none")] = 0.9
    beta_2: Annotated[float, Meta(ge=0, lt=1, description="share of the second moment that is kept")] = 0.99
    adaptivity: Annotated[
        float, Meta(gt=0, le=1e6, description="τ: below it the size of updates decides, above it their sign")
    ] = 1e-3
    reads: ClassVar[Reads] = "sums"

    def counted(self, samples: Sequence[int]) -> Sequence[int]:
        return samples if self.weight_by == "samples" else [1 for _ in samples]

    def init(self, parameters: Tensors) -> ServerState:
        return ServerState(
            {
                "first_moment": {name: np.zeros_like(tensor) for name, tensor in parameters.items()},
                "second_moment": {
                    name: np.full_like(tensor, self.adaptivity**2) for name, tensor in parameters.items()
                },
            }
        )

    def finish(self, aggregate: Mapping[str, Float64], base: Tensors, state: ServerState) -> Finished:
        first = {
            name: (self.beta_1 * moment + (1 - self.beta_1) * aggregate[name]).astype(np.float32)
            for name, moment in state.tensors["first_moment"].items()
        }
        second = {
            name: (self.beta_2 * moment + (1 - self.beta_2) * aggregate[name] ** 2).astype(np.float32)
            for name, moment in state.tensors["second_moment"].items()
        }
        parameters = {
            name: tensor
            + self.learning_rate * first[name].astype(np.float64) / (np.sqrt(second[name]) + self.adaptivity)
            for name, tensor in base.items()
        }
        return Finished(parameters, ServerState({"first_moment": first, "second_moment": second}))
