"""Convolutions along one of two axes, e.g. of sensors by time: over one row of pixels, with strides of a row's length.

A runtime copies the inputs of a one-column kernel line by line, and with few columns the lines are short.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Tensor:
    """nn.Conv2d; a kernel [k, 1] without strides is one [k] of the image end to end."""
    stride, padding, dilation = map(_both, (stride, padding, dilation))
    tall, wide = weight.shape[2:]
    sizes = x.shape[-2:]
    alone = wide == 1 and tall > 1 and padding[1] == 0 and groups == 1
    if x.dim() != 4 or not alone or any(step != 1 for step in stride) or not all(isinstance(n, int) for n in sizes):
        return torch.conv2d(x, weight, bias, stride, padding, dilation, groups)
    columns = sizes[1]
    steps = (padding[0] * columns, dilation[0] * columns)
    found = torch.conv1d(x.flatten(2), weight.flatten(2), bias, 1, steps[0], steps[1])
    return found.reshape(*found.shape[:2], -1, columns)


def _both(amounts: Sequence[int]) -> Sequence[int]:
    return amounts if len(amounts) == 2 else [*amounts, *amounts]
