"""Weight gradient of depthwise convolution as a few matrix products for each channel.

A row of an image, convolved by a row of a kernel, is the row times a banded matrix. The gradient of that matrix is a
product over all rows of all samples; its bands, summed, are the gradient of the taps. That computes more than needed,
by the ratio of image width to kernel width, and is several times faster than visiting single taps.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

WIDEST = 64
"""Pixels; the waste grows with the width."""


def is_narrow_depthwise(big: Tensor, weight: Tensor, groups: int) -> bool:
    """Whether each channel is convolved separately, in images that are not wide."""
    return (
        weight.dim() == 4
        and groups > 1
        and weight.shape[:2] == (groups, 1)
        and big.shape[1] == groups
        and int(big.shape[3]) <= WIDEST
    )


def depthwise_weight_gradient(
    big: Tensor,
    small: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """[channels, 1, *kernel] of `big` [batch, channels, height, width] and `small` [batch, channels, *places]."""
    batch, channels, _, width = big.shape
    rows, columns = small.shape[2:]
    by_channel = small.transpose(0, 1).reshape(channels, batch * rows, columns)
    reach = (rows - 1) * stride[0] + 1
    # Of a strided convolution some rows at the end may be read by no tap, or some taps reach beyond the padding.
    after = max(0, reach + (weight.shape[2] - 1) * dilation[0] - padding[0] - big.shape[2])
    padded = torch.nn.functional.pad(big.transpose(0, 1), (0, 0, padding[0], after))
    products = []
    for tap in range(weight.shape[2]):
        start = tap * dilation[0]
        seen = padded[:, :, start : start + reach : stride[0]].reshape(channels, batch * rows, width)
        products.append(torch.bmm(seen.transpose(1, 2), by_channel).reshape(channels, 1, width * columns))
    bands = band(weight.shape[3], width, columns, stride[1], padding[1], dilation[1])
    return (torch.cat(products, dim=1).reshape(-1, width * columns) @ bands.t()).reshape(weight.shape)


def band(taps: int, width: int, places: int, stride: int, padding: int, dilation: int) -> Tensor:
    """Which of `width` pixels each tap reads at each of `places`: zeros and ones [taps, width · places]."""
    pixel = torch.arange(width).reshape(1, width, 1)
    seen = (torch.arange(places) * stride - padding).reshape(1, 1, places)
    offset = (torch.arange(taps) * dilation).reshape(taps, 1, 1)
    return (pixel == seen + offset).to(torch.float32).reshape(taps, width * places)
