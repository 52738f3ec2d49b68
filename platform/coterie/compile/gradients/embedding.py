"""Gradient of an embedding."""

import torch
from torch import Tensor

SMALL_VOCABULARY = 512


def embedding_backward(
    gradient: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """A small vocabulary as one matrix product with one-hot rows; a large one by adding rows in place."""
    if scale_grad_by_freq:
        raise NotImplementedError("gradients scaled by frequency")
    rows, places = gradient.reshape(-1, gradient.shape[-1]), indices.reshape(-1)
    if padding_idx >= 0:
        rows = torch.where((places == padding_idx).unsqueeze(1), 0.0, rows)
    if num_weights <= SMALL_VOCABULARY:
        hot = (places.unsqueeze(0) == torch.arange(num_weights).unsqueeze(1)).to(gradient.dtype)
        return hot @ rows
    return rows.new_zeros(num_weights, rows.shape[1]).index_put([places], rows, accumulate=True)
