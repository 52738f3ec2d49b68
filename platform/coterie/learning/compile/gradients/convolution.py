"""Gradient of convolution, plain and transposed, in one, two or three dimensions.

The input gradient is the convolution of the opposite kind. The weight gradient is a matrix product of the patches that
the kernel saw and the gradients of what it made of them. The patches are cut by a convolution whose kernels each pick
one tap, which knows strides, padding and dilation by itself; or, without strides, each tap is a product of its own with
the image shifted by a constant distance in memory.
"""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.learning.compile.gradients.depthwise import depthwise_weight_gradient, is_narrow_depthwise

aten = torch.ops.aten

MAX_PATCH_FLOATS = 1 << 19
"""Patches of more are cut in parts of the batch. Measured on 1 MB of second-level cache: 2 MB are still quick."""

FEWEST_SHIFTED = 8
"""Channels; each shift is a product of its own, and products with few columns are slow."""
MOST_WASTE = 1.2
"""The slices of shifts are quicker than patches by about as much."""


class Geometry(NamedTuple):
    """How a kernel moves over its input: one number for each spatial axis."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]


def convolution_backward(
    gradient: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,  # noqa: ARG001 - the gradient's shape tells
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],  # noqa: ARG001
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Gradients for input, weight and bias, those that `output_mask` asks for."""
    want_input, want_weight, want_bias = output_mask
    geometry = Geometry(stride, padding, dilation)
    for_input = for_weight = for_bias = None
    if want_bias:
        for_bias = gradient.sum(dim=[0, *range(2, gradient.dim())])
    if want_input:
        spare = [0] * len(stride) if transposed else _left_over(x, weight, gradient, geometry)
        opposite = aten.convolution(gradient, weight, None, stride, padding, dilation, not transposed, spare, groups)
        for_input = _cropped(opposite, x.shape[2:])
    if want_weight:
        # A transposed convolution is the input gradient of a plain one: both change places.
        big, small = (gradient, x) if transposed else (x, gradient)
        for_weight = _weight_gradient(big, small, weight, geometry, groups)
    return for_input, for_weight, for_bias


def _left_over(x: Tensor, weight: Tensor, gradient: Tensor, geometry: Geometry) -> list[int]:
    """What a strided convolution left over at the end of each axis."""
    return [
        size - ((places - 1) * stride - 2 * padding) - dilation * (kernel - 1) - 1
        for size, places, kernel, stride, padding, dilation in zip(
            x.shape[2:], gradient.shape[2:], weight.shape[2:], *geometry, strict=True
        )
    ]


def _weight_gradient(big: Tensor, small: Tensor, weight: Tensor, geometry: Geometry, groups: int) -> Tensor:
    """The sum over samples and places of `small` times the patch of `big` it belongs to; shaped as `weight`."""
    if is_narrow_depthwise(big, weight, groups):
        return depthwise_weight_gradient(big, small, weight, *geometry)
    if groups == 1 and big.shape[1] >= FEWEST_SHIFTED and _waste_of_shifting(small, weight, geometry) <= MOST_WASTE:
        return _weight_gradient_by_shifts(big, small, weight, geometry)
    batch, taps, places = big.shape[0], math.prod(weight.shape[2:]), math.prod(small.shape[2:])
    parts = min(batch, math.ceil(big.shape[1] * batch * taps * places / MAX_PATCH_FLOATS)) if taps > 1 else 1
    size = math.ceil(batch / parts)
    products = [
        _product_of_patches(big_part, small_part, weight, geometry, groups)
        for big_part, small_part in zip(torch.split(big, size), torch.split(small, size), strict=True)
    ]
    total = products[0]
    for product in products[1:]:
        total = total + product
    # [groups, channels · taps, filters]
    return total.transpose(1, 2).reshape(weight.shape)


def _waste_of_shifting(small: Tensor, weight: Tensor, geometry: Geometry) -> float:
    """Work by work that counts: the image is taken with the margin at the end of its rows."""
    if any(step != 1 for step in geometry.stride) or weight.shape[2:].numel() == 1:
        return math.inf
    margins = [(size - 1) * dilation for size, dilation in zip(weight.shape[3:], geometry.dilation[1:], strict=True)]
    return math.prod((places + margin) / places for places, margin in zip(small.shape[3:], margins, strict=True))


def _weight_gradient_by_shifts(big: Tensor, small: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """The image as one row of pixels: a tap sees it from a constant distance on, so that slices are whole in memory."""
    rank, kernel = len(geometry.stride), weight.shape[2:]
    ends = [(size - 1) * dilation for size, dilation in zip(kernel, geometry.dilation, strict=True)]
    framed = [places + end for places, end in zip(small.shape[2:], ends, strict=True)]
    after = [want - padding - size for want, padding, size in zip(framed, geometry.padding, big.shape[2:], strict=True)]
    pads = [amount for axis in reversed(range(rank)) for amount in (geometry.padding[axis], after[axis])]
    image = torch.nn.functional.pad(big, pads).flatten(2)
    distances = [math.prod(framed[axis + 1 :]) for axis in range(rank)]
    length = sum((places - 1) * distance for places, distance in zip(small.shape[2:], distances, strict=True)) + 1
    # Zeros where the rows of the image have their margin.
    margins = [amount for axis in reversed(range(1, rank)) for amount in (0, ends[axis])]
    gradients = (torch.nn.functional.pad(small, margins) if any(margins) else small).flatten(2).narrow(2, 0, length)
    products = []
    for tap in itertools.product(*(range(size) for size in kernel)):
        steps = zip(tap, geometry.dilation, distances, strict=True)
        start = sum(number * dilation * distance for number, dilation, distance in steps)
        products.append(torch.bmm(image.narrow(2, start, length), gradients.transpose(1, 2)))
    # [taps · channels, filters]
    total = torch.cat(products, dim=1).sum(dim=0)
    by_filter = total.t().reshape(small.shape[1], kernel.numel(), big.shape[1])
    return by_filter.transpose(1, 2).reshape(weight.shape)


def _product_of_patches(big: Tensor, small: Tensor, weight: Tensor, geometry: Geometry, groups: int) -> Tensor:
    batch, taps = big.shape[0], math.prod(weight.shape[2:])
    patches = _patches(big, weight.shape[2:], small.shape[2:], geometry)
    left = patches.reshape(batch * groups, big.shape[1] // groups * taps, -1)
    right = small.reshape(batch * groups, small.shape[1] // groups, -1)
    # Patches come first, because runtimes copy the transposed factor, and they are the larger.
    product = torch.bmm(left, right.transpose(1, 2))
    return product.reshape(batch, groups, *product.shape[1:]).sum(dim=0)


def _patches(big: Tensor, kernel: Sequence[int], places: Sequence[int], geometry: Geometry) -> Tensor:
    """What each tap of the kernel sees at each place, [batch · channels, taps, *places]."""
    taps = math.prod(kernel)
    plain = all(step == 1 for step in geometry.stride) and not any(geometry.padding)
    if taps == 1 and plain:
        return big
    tap = torch.arange(taps)
    pick = (tap.unsqueeze(1) == tap).to(torch.float32).reshape(taps, 1, *kernel)
    alone = big.reshape(-1, 1, *big.shape[2:])
    stride, padding, dilation = geometry
    patches: Tensor = aten.convolution(alone, pick, None, stride, padding, dilation, False, [0] * len(kernel), 1)
    return _cropped(patches, places)


def _cropped(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """Without what a transposed convolution that padded its output by a stride or more makes too much."""
    for axis, size in enumerate(sizes, start=2):
        if x.shape[axis] != size:
            x = x.narrow(axis, 0, size)
    return x
