"""Gradient of convolution, plain and transposed, in one, two or three dimensions.

The input gradient is the convolution of the opposite kind. The weight gradient is a matrix product of the patches that
the kernel saw and the gradients of what it made of them; without strides, patches may be shifts of the image.
"""

import functools
import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from coterie.compile.geometry import Geometry
from coterie.compile.gradients.depthwise import depthwise_weight_gradient, is_narrow_depthwise
from coterie.compile.gradients.shifts import is_quicker_by_shifts, weight_gradient_by_shifts
from coterie.compile.gradients.sums import over_first
from coterie.compile.patches import patches
from coterie.compile.sizes import at_most

aten = torch.ops.aten

MAX_PATCH_FLOATS = 1 << 19
"""More patches are cut in parts of the batch. Measured on 1 MB of second-level cache: 2 MB are still fast."""
MAX_SHARED_FLOATS = 5 << 17
"""Up to so many patches are cut at once, where the convolution uses the same ones (`passes.shared_patches`)."""


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
    """Gradients for input, weight and bias, those selected by `output_mask`."""
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
    """The input that a strided convolution does not reach at the end of each axis."""
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
    taps, places = math.prod(weight.shape[2:]), math.prod(small.shape[2:])
    floats = at_most(big.shape[:2].numel() * taps * places) if taps > 1 else 0
    part_of: Callable[[Tensor, Tensor, Tensor, Geometry], Tensor] = partial(_by_patches, groups=groups)
    if floats <= MAX_SHARED_FLOATS and small.shape[1] >= big.shape[1]:
        return part_of(big, small, weight, geometry)
    if groups == 1 and is_quicker_by_shifts(big, small, weight, geometry):
        floats, part_of = at_most(big.numel() * weight.shape[-1]), weight_gradient_by_shifts
    count = min(big.shape[0], max(1, math.ceil(floats / MAX_PATCH_FLOATS)))
    if count == 1:
        return part_of(big, small, weight, geometry)
    size = math.ceil(big.shape[0] / count)
    parts = [
        part_of(big_part, small_part, weight, geometry)
        for big_part, small_part in zip(torch.split(big, size), torch.split(small, size), strict=True)
    ]
    return functools.reduce(torch.add, parts)


def _by_patches(big: Tensor, small: Tensor, weight: Tensor, geometry: Geometry, *, groups: int) -> Tensor:
    batch, taps = big.shape[0], math.prod(weight.shape[2:])
    seen = _seen(big, weight.shape[2:], small.shape[2:], geometry)
    left = seen.reshape(batch * groups, big.shape[1] // groups * taps, -1)
    right = small.reshape(batch * groups, small.shape[1] // groups, -1)
    # Patches come first, because runtimes copy the transposed factor, and they are the larger one.
    product = torch.bmm(left, right.transpose(1, 2))
    # [groups, channels · taps, filters]
    total = over_first(product.reshape(batch, groups, *product.shape[1:]))
    return total.transpose(1, 2).reshape(weight.shape)


def _seen(big: Tensor, kernel: Sequence[int], places: Sequence[int], geometry: Geometry) -> Tensor:
    """The inputs of each tap of the kernel at each of `places`, [batch · channels, taps, *places]."""
    if math.prod(kernel) == 1 and not any(geometry.padding):
        if all(step == 1 for step in geometry.stride):
            return big
        if len(kernel) == 2:  # pools of one pixel are the fastest way to skip the others
            return torch.nn.functional.avg_pool2d(big, 1, list(geometry.stride))
    return _cropped(patches(big, kernel, geometry), places)


def _cropped(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """Without the excess of a transposed convolution that padded its output by a stride or more."""
    for axis, size in enumerate(sizes, start=2):
        if x.shape[axis] != size:
            x = x.narrow(axis, 0, size)
    return x
