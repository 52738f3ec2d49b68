"""A merge that remembers, for tests of what keeps server states."""

from typing import ClassVar

import numpy as np

from coterie_learning.merge import Aggregate, Finished, Merge, Reads, ServerState
from coterie_wire.tensors import Tensors


class Remembering(Merge, frozen=True, tag="remembering"):
    """Adds the mean update and half of the step before."""

    reads: ClassVar[Reads] = "sums"

    def init(self, parameters: Tensors) -> ServerState:
        return ServerState(
            {"step": {name: np.zeros_like(tensor) for name, tensor in parameters.items()}}, {"rounds": 0}
        )

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        steps = {name: (aggregate[name] + 0.5 * state.tensors["step"][name]).astype(np.float32) for name in aggregate}
        parameters = {name: tensor + steps[name] for name, tensor in base.items()}
        return Finished(parameters, ServerState({"step": steps}, {"rounds": int(state.notes["rounds"]) + 1}))
