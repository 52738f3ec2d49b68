"""Activations whose gradient shares what the forward pass computed.

GELU: Hendrycks and Gimpel 2016 (arXiv 1606.08415, section 2). Its approximation 0.5 · x · (1 + tanh u) is
x · sigmoid(2 · u), in fewer operations.
"""

import math

import torch
from torch import Tensor

LINEAR = 2 * math.sqrt(2 / math.pi)
CUBIC = 0.044715 * LINEAR


def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return x * _share(x, approximate)


def gelu_backward(gradient: Tensor, x: Tensor, *, approximate: str = "none") -> Tensor:
    share = _share(x, approximate)
    if approximate == "tanh":
        y = x * share
        slope = (y - y * share) * (x * x * (3 * CUBIC) + LINEAR)
    else:
        slope = x * (torch.exp(x * x * -0.5) * math.sqrt(0.5 / math.pi))
    return gradient * (share + slope)


def _share(x: Tensor, approximate: str) -> Tensor:
    """Of x, what passes."""
    if approximate == "tanh":
        return torch.sigmoid(x * (x * x * CUBIC + LINEAR))
    return torch.erf(x * math.sqrt(0.5)) * 0.5 + 0.5


def silu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


def silu_backward(gradient: Tensor, x: Tensor) -> Tensor:
    share = torch.sigmoid(x)
    y = x * share
    return gradient * (share + (y - y * share))
