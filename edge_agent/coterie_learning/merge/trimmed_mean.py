"""The coordinate-wise trimmed mean: w + of each parameter, the mean of the updates without the extreme ones.

Yin et al. 2018, arXiv 1803.01498, Algorithm 1, option II. All devices weigh equally, whatever samples they claim:
otherwise one device could claim the weight of many.
"""

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Float64, Merge, Reads
from coterie_learning.merge._robust import at_most
from coterie_wire.tensors import Float32


class TrimmedMean(Merge, frozen=True, tag="trimmed_mean"):
    """Drops a share of each parameter's values at either end, and adds the mean of the rest to the base."""

    share: Annotated[
        float,
        Meta(
            ge=0,
            lt=0.5,
            description="β: share of the updates dropped at either end, rounded down; it bears as many hostile ones",
        ),
    ] = 0.2
    reads: ClassVar[Reads] = "columns"
    since: ClassVar[str] = "0.2"

    def combine(self, columns: Float32) -> Float64:
        dropped = at_most(self.share, len(columns))
        kept = columns[dropped : len(columns) - dropped]
        total = np.zeros(columns.shape[1])
        for row in kept:  # one after the other: NumPy's order of summation depends on the width of a block
            total += row
        return total / len(kept)
