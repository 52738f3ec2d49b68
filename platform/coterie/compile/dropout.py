"""Dropout of samples of any length."""

import torch
from torch import Tensor


def dropout(x: Tensor, share: float, train: bool) -> Tensor:
    """nn.Dropout; PyTorch's would first ask for the number of elements."""
    if not train or share in (0, 1) or all(isinstance(size, int) for size in x.shape):
        return torch.dropout(x, share, train)
    return x * (torch.bernoulli(torch.empty_like(x), 1 - share) / (1 - share))
