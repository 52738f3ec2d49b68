"""Channels scaled and shifted: one pass over the elements instead of two, and no slower where channels are short.

ONNX has no such operator by name. Batch normalisation in evaluation mode, of mean 0 and variance 1, is one.
"""

import torch
from torch import Tensor


def scale_and_shift(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Each channel of x [n, channels, ...]; `scale` and `shift` are [channels]."""
    if x.dim() == 2:
        return x * scale + shift
    mean, variance = torch.zeros_like(scale), torch.ones_like(scale)
    found: Tensor = torch.ops.aten._native_batch_norm_legit_no_training(x, scale, shift, mean, variance, 0.0, 0.0)[0]
    return found


def scale_and_shift_rows(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Each channel of each row of x [rows, channels, ...]; `scale` and `shift` are [rows, channels]."""
    if x.dim() == 2:
        return x * scale + shift
    apart = x.reshape(1, -1, x[0, 0].numel())
    return scale_and_shift(apart, scale.reshape(-1), shift.reshape(-1)).reshape(x.shape)
