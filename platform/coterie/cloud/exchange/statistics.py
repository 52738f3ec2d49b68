"""A model's floating-point and other buffers as one vector: running statistics, which have no gradient."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.cloud.arrays import array_of, tensor_of
from coterie.cloud.program import CloudProgram


class Statistics:
    """The numbers of all tensors of the state that are not parameters, one tensor after the other."""

    def __init__(self, cloud: CloudProgram) -> None:
        self._tensors = [tensor for name, tensor in cloud.state.items() if name not in cloud.parameters]
        self.size = sum(tensor.numel() for tensor in self._tensors)

    def gather(self) -> NDArray[np.float64]:
        """The vector, [size]."""
        parts = [array_of(tensor).reshape(-1) for tensor in self._tensors]
        found: NDArray[np.float64] = np.concatenate([np.zeros(0), *parts], dtype=np.float64)
        return found

    def spread(self, vector: NDArray[np.floating[Any]]) -> None:
        """Set the tensors from a vector [size]; integers and booleans are rounded."""
        start = 0
        for tensor in self._tensors:
            part = tensor_of(vector[start : start + tensor.numel()]).reshape(tensor.shape)
            tensor.copy_(part if tensor.is_floating_point() else part.round())
            start += tensor.numel()
