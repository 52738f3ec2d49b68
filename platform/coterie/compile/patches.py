"""The inputs of a kernel's taps, as one operator: a convolution can be computed from what its gradient cuts anyway."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from coterie.compile.geometry import Geometry


def patches(x: Tensor, kernel: Sequence[int], geometry: Geometry) -> Tensor:
    """The inputs of each tap of `kernel` in `x` [batch, channels, *sizes] at each place, [batch · channels, taps,
    *places].

    Cut by a convolution whose kernels each pick one tap, which supports strides, padding and dilation.
    """
    found: Tensor = PATCHES(x, list(kernel), *map(list, geometry))
    return found


def picks(kernel: Sequence[int]) -> Tensor:
    """A kernel for each tap that picks it: ones and zeros [taps, 1, *kernel]."""
    taps = math.prod(kernel)
    return torch.eye(taps).reshape(taps, 1, *kernel)


def _cut(
    x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Tensor:
    alone, spare = x.reshape(x.shape[0] * x.shape[1], 1, *x.shape[2:]), [0] * len(kernel)
    found: Tensor = torch.ops.aten.convolution(alone, picks(kernel), None, stride, padding, dilation, False, spare, 1)
    return found


torch.library.custom_op("coterie::patches", _cut, mutates_args=()).register_fake(_cut)
PATCHES = torch.ops.coterie.patches.default
