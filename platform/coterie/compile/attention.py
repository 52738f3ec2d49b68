"""Attention in as few operators as it takes (Vaswani et al. 2017, arXiv 1706.03762, equation 1)."""

import math

import torch
from torch import Tensor

HIDDEN = -1e30
"""Added to a score, it makes its softmax 0, while differences of such scores stay finite."""


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """As `torch.nn.functional` computes it, except for dropout's random numbers. A query whose keys are all masked gets
    0.

    PyTorch searches all scores for such queries; this searches the mask, which is often much smaller.
    """
    if dropout or enable_gqa:
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, mask, dropout, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    if is_causal:
        places, seen = torch.arange(query.shape[-2]), torch.arange(key.shape[-2])
        scores = scores + torch.where(seen <= places.unsqueeze(1), 0.0, -math.inf)
    if mask is None:
        return torch.softmax(scores, dim=-1) @ value
    bias = torch.where(mask, 0.0, HIDDEN) if mask.dtype == torch.bool else mask.clamp(min=HIDDEN)
    seen_any = (bias > HIDDEN).any(dim=-1, keepdim=True).to(value.dtype)
    return (torch.softmax(scores + bias, dim=-1) @ value) * seen_any
