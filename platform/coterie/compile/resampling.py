"""Resizing and adaptive pooling as matrix products, one for each axis; so their gradients are matrix products too.

Each output along an axis is a weighted sum of inputs along it, and the weights depend on the sizes only.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

CUBIC = -0.75
"""The coefficient of Keys 1981 that PyTorch chose."""

Weights = Callable[[int, int], Tensor]
"""By input size and output size, the matrix [output, input]."""


def resample(x: Tensor, sizes: Sequence[int], weights: Sequence[Weights]) -> Tensor:
    """x [batch, channels, *spatial] at the spatial `sizes`, the axes one after the other."""
    rank = x.dim()
    for offset, (size, weigh) in enumerate(zip(sizes, weights, strict=True)):
        axis = 2 + offset
        here = x.shape[axis]
        if not isinstance(here, int):
            raise NotImplementedError("it resizes an axis whose size is dynamic: give the axis a fixed size")
        matrix = weigh(here, int(size)).to(x.dtype)
        if axis == rank - 1:
            x = x @ matrix.t()
        elif axis == rank - 2:
            x = matrix @ x
        else:
            x = (x.transpose(axis, -1) @ matrix.t()).transpose(axis, -1)
    return x


def window(place: int, inputs: int, outputs: int) -> range:
    """The inputs of adaptive pooling for one output."""
    return range(place * inputs // outputs, math.ceil((place + 1) * inputs / outputs))


def averages(inputs: int, outputs: int) -> Tensor:
    """Adaptive average pooling."""
    windows = [window(place, inputs, outputs) for place in range(outputs)]
    return torch.tensor([[1 / len(seen) if at in seen else 0.0 for at in range(inputs)] for seen in windows])


def pooled_averages(
    kernel: int, stride: int, padding: int, *, ceil_mode: bool, count_include_pad: bool, divisor: int | None
) -> tuple[Callable[[int], int], Weights]:
    """Average pooling along one axis: its output size by input size, and its weights."""

    def outputs_of(inputs: int) -> int:
        span = inputs + 2 * padding - kernel
        places = (math.ceil(span / stride) if ceil_mode else span // stride) + 1
        # The last window has to start within the input or the padding before it.
        return places - 1 if ceil_mode and (places - 1) * stride >= inputs + padding else places

    def weigh(inputs: int, outputs: int) -> Tensor:
        matrix = torch.zeros(outputs, inputs)
        for place in range(outputs):
            start = place * stride - padding
            end = min(start + kernel, inputs + padding)
            seen = range(max(start, 0), min(end, inputs))
            counted = divisor or (end - start if count_include_pad else len(seen))
            matrix[place, seen.start : seen.stop] = 1 / counted
        return matrix

    return outputs_of, weigh


def neighbours(scale: float | None, *, exact: bool) -> Weights:
    """The nearest input, counted from the pixels' corners or, `exact`, from their centres."""

    def weigh(inputs: int, outputs: int) -> Tensor:
        step, centre = _step(scale, inputs, outputs), np.float32(0.5 if exact else 0)
        places = [min(math.floor((np.float32(place) + centre) * step), inputs - 1) for place in range(outputs)]
        return torch.tensor([[float(at == place) for at in range(inputs)] for place in places])

    return weigh


def interpolation(scale: float | None, *, align_corners: bool, cubic: bool) -> Weights:
    """Linear interpolation of the two nearest inputs, or cubic convolution of the four nearest (Keys 1981)."""

    def weigh(inputs: int, outputs: int) -> Tensor:
        matrix = [[0.0] * inputs for _ in range(outputs)]
        for place, row in enumerate(matrix):
            if align_corners:
                at = place * (inputs - 1) / (outputs - 1) if outputs > 1 else 0.0
            else:
                at = (place + 0.5) * float(_step(scale, inputs, outputs)) - 0.5
                at = at if cubic else max(at, 0.0)
            left = math.floor(at)
            for tap, weight in enumerate(_taps(at - left, cubic=cubic), start=left - 1 if cubic else left):
                row[min(max(tap, 0), inputs - 1)] += weight
        return torch.tensor(matrix)

    return weigh


def _taps(past: float, *, cubic: bool) -> list[float]:
    """The weights of the neighbours, given how far past the left one the place is."""
    if not cubic:
        return [1 - past, past]

    def near(distance: float) -> float:
        return ((CUBIC + 2) * distance - (CUBIC + 3)) * distance * distance + 1

    def far(distance: float) -> float:
        return ((CUBIC * distance - 5 * CUBIC) * distance + 8 * CUBIC) * distance - 4 * CUBIC

    return [far(past + 1), near(past), near(1 - past), far(2 - past)]


def _step(scale: float | None, inputs: int, outputs: int) -> np.float32:
    """The distance between outputs, in inputs; in PyTorch's precision, which decides between neighbours."""
    return np.float32(1 / scale) if scale else np.float32(inputs) / np.float32(outputs)
