"""The geometric median, by smoothed Weiszfeld steps: the point with the smallest sum of distances to all updates.

RFA, robust federated aggregation: Pillutla, Kakade, Harchaoui 2022, arXiv 1912.13445, Algorithm 2. z is the mean of the
updates with weights β_i = 1 / max(ν, |u_i - z|), recomputed in each iteration from initially equal weights. With
weights that sum to one, the distances to z follow from those between updates: |u_i - z|² = Σ_j β_j d_ij² - ½ Σ_jk β_j
β_k d_jk². The paper weighs devices by their samples; here all weigh equally, whatever samples they claim.
"""

import math
from typing import Annotated

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Float64, Geometry, Vote
from coterie_learning.merge._robust import Comparing


class GeometricMedian(Comparing, frozen=True, tag="geometric_median"):
    """The smoothed geometric median: a mean of the updates that weighs distant ones less."""

    turns: Annotated[int, Meta(ge=0, le=100, description="Weiszfeld steps from the mean; 0 is the mean itself")] = 8
    smoothing: Annotated[
        float, Meta(gt=0, le=1e6, description="ν: nearer than this no update counts more, in L2 norm of an update")
    ] = 1e-6

    def weigh(self, found: Geometry) -> Vote:
        between = found.squared_distances
        weights = np.full(len(between), 1 / len(between))
        distances = _distances_to_mean(between, weights)
        for _ in range(self.turns):
            near = 1 / np.maximum(distances, self.smoothing)
            weights = near / math.fsum(near.tolist())
            distances = _distances_to_mean(between, weights)
        return Vote(weights, distances)


def _distances_to_mean(between: Float64, weights: Float64) -> Float64:
    """[updates], the distance of each to the mean with `weights`, whose sum is one."""
    to_all = np.array([math.fsum((row * weights).tolist()) for row in between])
    spread = math.fsum((to_all * weights).tolist())
    distances: Float64 = np.sqrt(np.maximum(to_all - spread / 2, 0))
    return distances
