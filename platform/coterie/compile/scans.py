"""Running products, maxima and the like: doubling the reach of each step (Hillis and Steele 1986)."""

from collections.abc import Callable

import torch
from torch import Tensor


def _scan(x: Tensor, dim: int, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Each element combined with all before it along `dim`."""
    size = _length(x, dim)
    reach = 1
    while reach < size:
        later = combine(x.narrow(dim, reach, size - reach), x.narrow(dim, 0, size - reach))
        x = torch.cat([x.narrow(dim, 0, reach), later], dim=dim)
        reach *= 2
    return x


def running_product(x: Tensor, dim: int) -> Tensor:
    return _scan(x, dim, torch.mul)


def running_log_sum_exp(x: Tensor, dim: int) -> Tensor:
    return _scan(x, dim, torch.logaddexp)


def running_maximum(x: Tensor, dim: int) -> tuple[Tensor, None]:
    """The indices of the maxima are not returned."""
    return _scan(x, dim, lambda later, before: torch.where(later >= before, later, before)), None


def running_minimum(x: Tensor, dim: int) -> tuple[Tensor, None]:
    return _scan(x, dim, lambda later, before: torch.where(later <= before, later, before)), None


def product(x: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """By halves, so that the gradient needs no division and zeros are allowed."""
    while (size := _length(x, dim)) > 1:
        half = size // 2
        halves = x.narrow(dim, 0, half) * x.narrow(dim, half, half)
        x = torch.cat([halves, x.narrow(dim, size - 1, 1)], dim=dim) if size % 2 else halves
    return x if keepdim else x.squeeze(dim)


def _length(x: Tensor, dim: int) -> int:
    size = x.shape[dim]
    if not isinstance(size, int):
        raise NotImplementedError("it runs along an axis whose size is dynamic: give the axis a fixed size")
    return size
