"""Norm bounding: the mean of the updates, each scaled down to a bound: (1/n) Σ u_i · min(1, c / |u_i|).

Sun et al. 2019, arXiv 1911.07963, §5. The bound c is a multiple of the median norm of the round, so that it means the
same for any model and at any time. All devices weigh equally, whatever samples they claim. Updates larger than any
honest one are left out before (see `coterie_learning.cohort`).
"""

import statistics
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Geometry, Merge, Reads, Vote


class NormBound(Merge, frozen=True, tag="norm_bound"):
    """Bounds the influence of a single device on the version, and leaves no device out."""

    times_median: Annotated[
        float, Meta(gt=0, le=10, description="c: the longest update that counts whole, in median norms of its round")
    ] = 1.0
    reads: ClassVar[Reads] = "norms"
    since: ClassVar[str] = "0.2"

    def weigh(self, found: Geometry) -> Vote:
        bound = self.times_median * statistics.median(found.norms.tolist())
        longer = found.norms > bound
        weights = np.divide(bound, found.norms, out=np.ones_like(found.norms), where=longer)
        return Vote(weights, found.norms, float(len(weights)))
