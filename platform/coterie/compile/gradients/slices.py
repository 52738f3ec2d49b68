"""Gradient of a slice: it is joined with zeros, so that the gradients of several slices can be joined with each
other.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def select_backward(gradient: Tensor, sizes: Sequence[int], dim: int, index: int) -> Tensor:
    axis = dim % len(sizes)
    return _amid_zeros(gradient.unsqueeze(axis), sizes, axis, index if index >= 0 else index + sizes[axis])


def slice_backward(gradient: Tensor, sizes: Sequence[int], dim: int, start: int, end: int, step: int) -> Tensor:
    axis = dim % len(sizes)
    if step != 1:
        return torch.slice_scatter(gradient.new_zeros(sizes), gradient, axis, start, end, step)
    first = start
    if isinstance(start, int):
        whole = sizes[axis]
        first = slice(start, None).indices(whole)[0] if isinstance(whole, int) else _from_the_front(start, whole)
    return _amid_zeros(gradient, sizes, axis, first)


def _from_the_front(start: int, whole: int) -> int:
    """Where a slice of an axis of dynamic size starts."""
    return start if start >= 0 else max(start + whole, 0)


def _amid_zeros(gradient: Tensor, sizes: Sequence[int], axis: int, start: int) -> Tensor:
    counts = (start, sizes[axis] - (start + gradient.shape[axis]))
    if not all(isinstance(count, int) for count in counts):
        # Zeros of a size that is 0 for some lengths of samples would specialise the size.
        padded: Tensor = torch.ops.aten.constant_pad_nd(gradient, [0, 0] * (len(sizes) - 1 - axis) + list(counts))
        return padded
    around = [gradient.new_zeros([*sizes[:axis], count, *sizes[axis + 1 :]]) for count in counts]
    parts = [part for part in (around[0], gradient, around[1]) if part.shape[axis]]
    return torch.cat(parts, dim=axis) if len(parts) > 1 else gradient
