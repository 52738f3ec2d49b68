"""Conversions between PyTorch tensors and arrays: checkpoints and messages contain arrays."""

import numpy as np
import torch
from torch import Tensor

from coterie_wire.tensors import Array


def array_of(tensor: Tensor) -> Array:
    """`tensor` as an array; without a copy where it is in CPU memory already."""
    found: Array = tensor.detach().cpu().numpy()
    return found


def tensor_of(array: Array) -> Tensor:
    """A CPU tensor with a copy of `array`, so that it may be changed."""
    return torch.from_numpy(np.array(array))
