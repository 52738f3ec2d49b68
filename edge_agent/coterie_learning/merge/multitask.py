"""Federated multi-task learning, on the platform: the mean of the tasks' models, and how they differ.

Smith et al. 2017, arXiv 1705.10467 (MOCHA), in the primal and with a relationship of low rank; see `local.multitask`.
One merge is one step of orthogonal iteration (Golub, Van Loan, Matrix Computations, section 8.2.4) on V·Vᵀ/N, the
second moment of the fleet's deviations from their mean: devices send v·(v·u_k), and orthonormalise what they receive.
"""

from typing import ClassVar

import numpy as np

from coterie_learning.local._directions import DIRECTIONS
from coterie_learning.merge import Aggregate, Finished, Merge, Reads, ServerState
from coterie_wire.tensors import Tensors


class MultiTask(Merge, frozen=True, tag="multitask"):
    """The mean of the round's models, all devices weighted equally, and the directions in which models differ.

    Where only a share of the fleet takes part, directions change by that share: the other devices count as before.
    """

    reads: ClassVar[Reads] = "sums"
    sends: ClassVar[tuple[str, ...]] = DIRECTIONS
    since: ClassVar[str] = "0.2"
    half_of: ClassVar[str | None] = "MOCHA"

    def init(self, parameters: Tensors) -> ServerState:
        return ServerState(
            {part: {name: np.zeros_like(tensor) for name, tensor in parameters.items()} for part in DIRECTIONS}
        )

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        share = aggregate.cohort.share
        turned = {
            part: {
                name: ((1 - share) * former + share * aggregate[f"{part}.{name}"]).astype(np.float32)
                for name, former in tensors.items()
            }
            for part, tensors in state.tensors.items()
        }
        return Finished({name: tensor + aggregate[name] for name, tensor in base.items()}, ServerState(turned))
