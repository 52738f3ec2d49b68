"""A model's gradients, running statistics and loss as one vector, so that a gradient code can sum them together."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.cloud.arrays import array_of, tensor_of
from coterie.cloud.exchange.statistics import Statistics
from coterie.cloud.program import CloudProgram
from coterie_wire.tensors import Array


class Layout:
    """The gradients of the parameters in order, then the numbers without gradients, then the loss."""

    def __init__(self, cloud: CloudProgram) -> None:
        self._cloud = cloud
        self._parameters = list(cloud.parameters.values())
        self._statistics = Statistics(cloud)
        self.parameters = range(len(self._parameters))
        self.size = sum(parameter.numel() for parameter in self._parameters) + self._statistics.size + 1

    def state(self) -> Mapping[str, Array]:
        """The model, as it is sent to workers."""
        return {name: array_of(tensor) for name, tensor in self._cloud.state.items()}

    def load(self, state: Mapping[str, Array]) -> None:
        """Load the model. Raises KeyError or RuntimeError where it is a different one."""
        with torch.no_grad():
            for name, tensor in self._cloud.state.items():
                tensor.copy_(tensor_of(state[name]))

    def idle(self) -> set[int]:
        """The places of the parameters that no gradient reached."""
        return {place for place, parameter in enumerate(self._parameters) if parameter.grad is None}

    def gather(self, loss: float) -> NDArray[np.float64]:
        """The vector after a backward pass; a parameter that no gradient reached has zeros."""
        gradients = [
            np.zeros(parameter.numel()) if parameter.grad is None else array_of(parameter.grad).reshape(-1)
            for parameter in self._parameters
        ]
        parts = [*gradients, self._statistics.gather(), [loss]]
        found: NDArray[np.float64] = np.concatenate(parts, dtype=np.float64)
        return found

    def spread(self, vector: NDArray[np.float64], idle: set[int]) -> float:
        """Set the parameters' gradients and the statistics from the vector; returns the loss."""
        start = 0
        for place, parameter in enumerate(self._parameters):
            part = torch.from_numpy(vector[start : start + parameter.numel()].astype(np.float32))
            parameter.grad = None if place in idle else part.reshape(parameter.shape)
            start += parameter.numel()
        self._statistics.spread(vector[start:-1])
        return float(vector[-1])
