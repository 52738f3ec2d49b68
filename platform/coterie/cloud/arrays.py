"""Tensors of PyTorch as arrays, and back: checkpoints and messages hold arrays."""

import numpy as np
import torch
from torch import Tensor

from coterie_wire.tensors import Array


def array_of(tensor: Tensor) -> Array:
    """The numbers of `tensor`; where they are in memory already, these and no copy."""
    found: Array = tensor.detach().cpu().numpy()
    return found


def tensor_of(array: Array) -> Tensor:
    """A tensor on the CPU with a copy of the numbers of `array`, which it may change."""
    return torch.from_numpy(np.array(array))
