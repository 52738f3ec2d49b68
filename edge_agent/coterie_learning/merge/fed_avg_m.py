"""Momentum on the server: m ← β·m + Δ, w ← w + η·m (Hsu, Qi, Brown 2019, arXiv 1909.06335, §4.2, FedAvgM)."""

from typing import Annotated

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Aggregate, Finished, ServerState
from coterie_learning.merge._mean import MeanUpdate
from coterie_wire.tensors import Tensors


class FedAvgM(MeanUpdate, frozen=True, tag="fed_avg_m"):
    """A step of SGD with momentum along the mean of the updates; its state is one number for each parameter."""

    learning_rate: Annotated[float, Meta(gt=0, le=10, description="η: share of the step that is taken")] = 1.0
    momentum: Annotated[float, Meta(ge=0, lt=1, description="β: share of the last step that is kept; 0 is none")] = 0.9

    def init(self, parameters: Tensors) -> ServerState:
        return ServerState({"momentum": {name: np.zeros_like(tensor) for name, tensor in parameters.items()}})

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        step = {
            name: (self.momentum * former + aggregate[name]).astype(np.float32)
            for name, former in state.tensors["momentum"].items()
        }
        parameters = {
            name: tensor + self.learning_rate * step[name].astype(np.float64) for name, tensor in base.items()
        }
        return Finished(parameters, ServerState({"momentum": step}))
