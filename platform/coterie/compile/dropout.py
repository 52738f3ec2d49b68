"""Dropout of samples of any length."""

import torch
from torch import Tensor


def dropout(x: Tensor, share: float, train: bool) -> Tensor:
    """nn.Dropout; PyTorch asks for the number of elements first."""
    if not train or share in (0, 1) or all(isinstance(size, int) for size in x.shape):
        return torch.dropout(x, share, train)
    return x * (torch.bernoulli(torch.empty_like(x), 1 - share) / (1 - share))
