"""Gradient of a slice: zeros around it, joined, so that the slices of one tensor can be joined with each other."""

from collections.abc import Sequence

import torch
from torch import Tensor


def select_backward(gradient: Tensor, sizes: Sequence[int], dim: int, index: int) -> Tensor:
    axis = dim % len(sizes)
    return _amid_zeros(gradient.unsqueeze(axis), sizes, axis, index % sizes[axis])


def slice_backward(gradient: Tensor, sizes: Sequence[int], dim: int, start: int, end: int, step: int) -> Tensor:
    axis = dim % len(sizes)
    first, last, _ = slice(start, end, step).indices(sizes[axis])
    if step != 1:
        return torch.slice_scatter(gradient.new_zeros(sizes), gradient, axis, first, last, step)
    return _amid_zeros(gradient, sizes, axis, first)


def _amid_zeros(gradient: Tensor, sizes: Sequence[int], axis: int, start: int) -> Tensor:
    end = start + gradient.shape[axis]
    around = [gradient.new_zeros([*sizes[:axis], count, *sizes[axis + 1 :]]) for count in (start, sizes[axis] - end)]
    parts = [part for part in (around[0], gradient, around[1]) if part.shape[axis]]
    return torch.cat(parts, dim=axis) if len(parts) > 1 else gradient
