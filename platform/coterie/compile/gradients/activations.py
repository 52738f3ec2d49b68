"""Activations whose gradient shares what the forward pass computed, in operators that are quick.

GELU: Hendrycks and Gimpel 2016 (arXiv 1606.08415, section 2). Its approximation 0.5 · x · (1 + tanh u) is
x · sigmoid(2 · u), in fewer operations. Mish: Misra 2019 (arXiv 1908.08681). PReLU: He et al. 2015 (arXiv 1502.01852).
"""

import math

import torch
from torch import Tensor

LINEAR = 2 * math.sqrt(2 / math.pi)
CUBIC = 0.044715 * LINEAR
ALL = 20.0
"""From this number on Mish is the identity in float32; and its exponential has a finite square."""


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
    """The factor of x."""
    if approximate == "tanh":
        return torch.sigmoid(x * (x * x * CUBIC + LINEAR))
    return torch.erf(x * math.sqrt(0.5)) * 0.5 + 0.5


def silu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


def silu_backward(gradient: Tensor, x: Tensor) -> Tensor:
    share = torch.sigmoid(x)
    y = x * share
    return gradient * (share + (y - y * share))


def mish(x: Tensor) -> Tensor:
    return x * _share_of_mish(x)


def mish_backward(gradient: Tensor, x: Tensor) -> Tensor:
    share = _share_of_mish(x)
    return gradient * (share + x * torch.sigmoid(x) * (1 - share * share))


def _share_of_mish(x: Tensor) -> Tensor:
    """tanh(log(1 + e^x)) without the logarithm, for which runtimes take longer than for everything else."""
    power = torch.exp(torch.clamp(x, max=ALL))
    grown = power * (power + 2)
    return grown / (grown + 2)


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    passed = torch.relu(x)
    return passed + (x - passed) * weight


def prelu_backward(gradient: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    passed: Tensor = torch.ops.aten.threshold_backward(gradient, x, 0)
    weighted = gradient - passed
    return passed + weighted * weight, weighted * x
