"""A model's gradients, running statistics and loss as one vector, so that a code can sum them together."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.cloud.program import CloudProgram
from coterie_wire.tensors import Array


class Layout:
    """The gradients of the parameters in order, then the numbers of what no gradient changes, then the loss."""

    def __init__(self, cloud: CloudProgram) -> None:
        self._cloud = cloud
        self._parameters = list(cloud.parameters.values())
        self._statistics = [tensor for name, tensor in cloud.state.items() if name not in cloud.parameters]
        self.parameters = range(len(self._parameters))
        self.size = sum(tensor.numel() for tensor in (*self._parameters, *self._statistics)) + 1

    def state(self) -> Mapping[str, Array]:
        """The model, as it travels to workers."""
        return {name: tensor.detach().numpy() for name, tensor in self._cloud.state.items()}

    def load(self, state: Mapping[str, Array]) -> None:
        """Take the model. Raises KeyError or RuntimeError where it is another one."""
        with torch.no_grad():
            for name, tensor in self._cloud.state.items():
                tensor.copy_(torch.from_numpy(np.array(state[name])))

    def idle(self) -> set[int]:
        """The places of the parameters that no gradient reached."""
        return {place for place, parameter in enumerate(self._parameters) if parameter.grad is None}

    def gather(self, loss: float) -> NDArray[np.float64]:
        """The vector after a backward pass; a parameter that no gradient reached has zeros."""
        gradients = [
            np.zeros(parameter.numel()) if parameter.grad is None else parameter.grad.numpy().reshape(-1)
            for parameter in self._parameters
        ]
        statistics = [tensor.numpy().reshape(-1) for tensor in self._statistics]
        found: NDArray[np.float64] = np.concatenate([*gradients, *statistics, [loss]], dtype=np.float64)
        return found

    def spread(self, vector: NDArray[np.float64], idle: set[int], *, weight: float = 1.0) -> float:
        """Give parameters their gradients, and statistics `weight` of what the vector says; returns the loss."""
        start = 0
        for place, parameter in enumerate(self._parameters):
            part = torch.from_numpy(vector[start : start + parameter.numel()].astype(np.float32))
            parameter.grad = None if place in idle else part.reshape(parameter.shape)
            start += parameter.numel()
        for tensor in self._statistics:
            part = torch.from_numpy(vector[start : start + tensor.numel()]).reshape(tensor.shape)
            mixed = weight * part + (1 - weight) * tensor.double()
            tensor.copy_(mixed if tensor.is_floating_point() else mixed.round())
            start += tensor.numel()
        return float(vector[start])
