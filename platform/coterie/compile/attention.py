"""Attention in as few operators as it takes (Vaswani et al. 2017, arXiv 1706.03762, equation 1)."""

import math

import torch
from torch import Tensor


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
    """What `torch.nn.functional` computes; with a mask, which may hide all, or dropout, its own way."""
    if mask is not None or dropout or enable_gqa:
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, mask, dropout, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    if is_causal:
        places, seen = torch.arange(query.shape[-2]), torch.arange(key.shape[-2])
        scores = scores + torch.where(seen <= places.unsqueeze(1), 0.0, -math.inf)
    return torch.softmax(scores, dim=-1) @ value
