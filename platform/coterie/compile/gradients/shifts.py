"""The weight gradient of a convolution without strides, in one or two dimensions, as one product for all taps.

An image is one row of pixels, which a tap reads from a constant offset on. Copies end to end, read in rows that are
longer than a copy by a shift, are shifted copies.
"""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.compile.geometry import Geometry
from coterie.compile.gradients.sums import over_first


class Limits(NamedTuple):
    """Measured limits within which one product of shifts is faster than patches."""

    fewest_channels: int
    """Products with few rows are slow."""
    most_waste: float
    """The image's places with its margin, divided by those without."""


MANY_TAPS = 16
LIMITS = Limits(fewest_channels=8, most_waste=1.3)
LIMITS_OF_MANY = Limits(fewest_channels=4, most_waste=2.5)


def is_quicker_by_shifts(big: Tensor, small: Tensor, weight: Tensor, geometry: Geometry) -> bool:
    """Whether it can be computed so, and patches would be slower."""
    taps = math.prod(weight.shape[2:])
    if taps == 1 or len(geometry.stride) > 2 or any(step != 1 for step in geometry.stride):
        return False
    if not all(isinstance(places, int) for places in small.shape[2:]):
        return False  # the length would decide
    ends = zip(_ends(weight, geometry), small.shape[2:], strict=True)
    limits = LIMITS_OF_MANY if taps >= MANY_TAPS else LIMITS
    waste = math.prod(1 + end / places for end, places in ends)
    return big.shape[1] >= limits.fewest_channels and waste <= limits.most_waste


def weight_gradient_by_shifts(big: Tensor, small: Tensor, weight: Tensor, geometry: Geometry) -> Tensor:
    """The sum over samples and places of `small` times the patch of `big` it belongs to; shaped as `weight`.

    The image is shifted for each column of the kernel, the gradient for each of its rows.
    """
    ends, kernel = _ends(weight, geometry), weight.shape[2:]
    framed = [places + end for places, end in zip(small.shape[2:], ends, strict=True)]
    after = [want - padding - size for want, padding, size in zip(framed, geometry.padding, big.shape[2:], strict=True)]
    image = _padded(big, list(zip(geometry.padding, after, strict=True))).flatten(2)
    # Zeros where the rows of the image have their margin, and none at the end.
    gradient = _padded(small, [(0, 0), (0, ends[-1])] if len(kernel) == 2 else [(0, 0)]).flatten(2)
    step = geometry.dilation[-1]
    length = image.shape[2] + step
    rows = [row * geometry.dilation[0] * framed[-1] for row in range(kernel[0])] if len(kernel) == 2 else [0]
    product = torch.bmm(_advanced(image, kernel[-1], step), _delayed(gradient, rows, length).transpose(1, 2))
    apart = over_first(product).reshape(big.shape[1], kernel[-1], small.shape[1], len(rows))
    return apart.permute(2, 0, 3, 1).reshape(weight.shape)


def _ends(weight: Tensor, geometry: Geometry) -> list[int]:
    """The distance between the first and the last tap, for each axis."""
    return [dilation * (size - 1) for size, dilation in zip(weight.shape[2:], geometry.dilation, strict=True)]


def _padded(x: Tensor, margins: Sequence[tuple[int, int]]) -> Tensor:
    amounts = [amount for pair in reversed(margins) for amount in pair]
    return torch.nn.functional.pad(x, amounts) if any(amounts) else x


def _advanced(image: Tensor, copies: int, step: int) -> Tensor:
    """Copy i without its first i · `step` numbers, [batch, channels · copies, length + step].

    The ends of the rows contain numbers of the next copy, which are multiplied by zeros.
    """
    tail = image.new_zeros(*image.shape[:2], copies * step)
    return torch.cat([image] * copies + [tail], dim=2).reshape(image.shape[0], -1, image.shape[2] + step)


def _delayed(gradient: Tensor, shifts: Sequence[int], length: int) -> Tensor:
    """Copy i after `shifts[i]` zeros, [batch, filters · copies, `length`]."""
    starts = [*(number * length + shift for number, shift in enumerate(shifts)), len(shifts) * length]
    parts = []
    for start, end in itertools.pairwise(starts):
        parts += [gradient, gradient.new_zeros(*gradient.shape[:2], end - start - gradient.shape[2])]
    return torch.cat(parts, dim=2).reshape(gradient.shape[0], -1, length)
