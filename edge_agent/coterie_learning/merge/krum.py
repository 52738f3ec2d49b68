"""Krum: the update with the smallest sum of squared distances to its n - f - 2 nearest; multi-Krum: the mean of n - f.

Blanchard et al. 2017, Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent, NeurIPS, §4 and §5. Of n
updates f may be corrupted, and n must be more than 2f + 2. All devices weigh equally, whatever samples they claim. Of
updates with equal scores all count, or none, so that their order has no effect: two that are each other's nearest are
both merged where one is asked for.
"""

import math
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Geometry, Vote
from coterie_learning.merge._robust import Comparing, at_most
from coterie_wire.conditions import Reason


class Krum(Comparing, frozen=True, tag="krum"):
    """Merges the updates with the lowest Krum scores, and leaves out as many as may be corrupted."""

    corrupted: Annotated[
        float, Meta(ge=0, lt=0.5, description="f: share of the updates that may be corrupted, rounded down")
    ] = 0.2
    merges: Annotated[
        Literal["best", "all_but_corrupted"],
        Meta(description="the one with the nearest neighbours (Krum), or the mean of the best n - f (multi-Krum)"),
    ] = "all_but_corrupted"

    def too_few(self, updates: int) -> Reason | None:
        corrupted = at_most(self.corrupted, updates)
        if updates > 2 * corrupted + 2:
            return None
        return Reason(
            "merge.too_few_updates",
            f"krum needs more than {2 * corrupted + 2} updates where {corrupted} may be corrupted, and has {updates}",
        )

    def weigh(self, found: Geometry) -> Vote:
        count = len(found.norms)
        corrupted = at_most(self.corrupted, count)
        nearest = max(1, count - corrupted - 2)
        # The first of a row in ascending order is the update itself.
        ascending = np.sort(found.squared_distances, axis=1)[:, 1 : nearest + 1]
        scores = np.array([math.fsum(row.tolist()) for row in ascending])
        wanted = 1 if self.merges == "best" else count - corrupted
        kept = scores <= np.sort(scores)[wanted - 1]
        return Vote(kept.astype(np.float64), np.sqrt(scores / nearest))
