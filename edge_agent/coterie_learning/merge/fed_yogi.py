"""Yogi on the server: v ← v - (1-β₂)·Δ²·sign(v - Δ²) (Reddi et al. 2021, arXiv 2003.00295, Algorithm 2, FedYogi)."""

from typing import Annotated

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Float64
from coterie_learning.merge._adaptive import AdaptiveServer


class FedYogi(AdaptiveServer, frozen=True, tag="fed_yogi"):
    """A step of Yogi along the mean of the updates: v changes slowly even when updates suddenly become small."""

    beta_2: Annotated[float, Meta(ge=0, lt=1, description="how slowly the second moment moves")] = 0.99

    def second_moment(self, former: Float64, square: Float64) -> Float64:
        moved: Float64 = former - (1 - self.beta_2) * square * np.sign(former - square)
        return moved
