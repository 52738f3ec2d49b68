"""What the taps of a kernel see, as one operator: a convolution can be made of what its gradient cuts anyway."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from coterie.learning.compile.gradients.geometry import Geometry

aten = torch.ops.aten


def patches(x: Tensor, kernel: Sequence[int], geometry: Geometry) -> Tensor:
    """What each tap of `kernel` sees of `x` [batch, channels, *sizes] at each place, [batch · channels, taps, *places].

    Cut by a convolution whose kernels each pick one tap, which knows strides, padding and dilation by itself.
    """
    found: Tensor = _patches(x, list(kernel), *map(list, geometry))
    return found


@torch.library.custom_op("coterie::patches", mutates_args=())
def _patches(
    x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Tensor:
    spared = [0] * len(kernel)
    found: Tensor = aten.convolution(alone(x), picks(kernel), None, stride, padding, dilation, False, spared, 1)
    return found


_patches.register_fake(_patches._init_fn)

PATCHES = torch.ops.coterie.patches.default


def alone(x: Tensor) -> Tensor:
    """Each channel as an image of its own."""
    return x.reshape(-1, 1, *x.shape[2:])


def picks(kernel: Sequence[int]) -> Tensor:
    """A kernel for each tap, which sees that alone: ones and zeros [taps, 1, *kernel]."""
    taps = math.prod(kernel)
    return torch.eye(taps).reshape(taps, 1, *kernel)
