"""Adam on the server: v ← β₂v + (1-β₂)Δ² (Reddi et al. 2021, arXiv 2003.00295, Algorithm 2, FedAdam)."""

from typing import Annotated

from msgspec import Meta

from coterie_learning.merge import Float64
from coterie_learning.merge._adaptive import AdaptiveServer


class FedAdam(AdaptiveServer, frozen=True, tag="fed_adam"):
    """A step of Adam along the mean of the updates; its state is two numbers for each parameter."""

    beta_2: Annotated[float, Meta(ge=0, lt=1, description="share of the second moment that is kept")] = 0.99

    def second_moment(self, former: Float64, square: Float64) -> Float64:
        return self.beta_2 * former + (1 - self.beta_2) * square
