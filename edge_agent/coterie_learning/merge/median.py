"""The coordinate-wise median: w + lr · median_k Δ_k.

Yin et al. 2018, arXiv 1803.01498, Algorithm 1, option I. Fewer than half of the devices cannot move a parameter outside
the range of the others. All devices weigh equally, whatever samples they claim.
"""

from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Aggregate, Finished, Float64, Merge, Reads, ServerState
from coterie_wire.tensors import Float32, Tensors


class Median(Merge, frozen=True, tag="median"):
    """The median of the updates, parameter by parameter, added to the base."""

    learning_rate: Annotated[float, Meta(gt=0, le=10, description="share of the median update that is applied")] = 1.0
    reads: ClassVar[Reads] = "columns"

    def combine(self, columns: Float32) -> Float64:
        count = len(columns)
        lower, upper = columns[(count - 1) // 2], columns[count // 2]
        middle: Float64 = (lower.astype(np.float64) + upper) / 2
        return middle

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        return Finished({name: tensor + self.learning_rate * aggregate[name] for name, tensor in base.items()}, state)
