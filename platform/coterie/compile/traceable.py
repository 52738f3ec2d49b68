"""Operators that PyTorch refuses to export, although graphs can compute them.

It looks into `torch.cdist` and CTC loss, and finds questions about the batch; of the variances of a Gaussian it asks
whether one is negative. Here the former are told by their shapes, and the latter by its formula.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.overrides import TorchFunctionMode

from coterie.compile.whole_layers import told_by_shapes

aten = torch.ops.aten
EACH = 0
"""Of reductions, the one that leaves the losses of samples as they are."""


@contextmanager
def traceable() -> Iterator[None]:
    """While it is open, more is exported."""
    with told_by_shapes(SHAPES), _Formulas():
        yield


def _distances(left: Tensor, right: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:  # noqa: ARG001
    return left.new_empty(left.shape).sum(-1, keepdim=True) + right.new_empty(right.shape).sum(-1).unsqueeze(-2)


def _of_samples(
    log_probabilities: Tensor,
    targets: Tensor,  # noqa: ARG001
    input_lengths: Tensor,  # noqa: ARG001
    target_lengths: Tensor,  # noqa: ARG001
    blank: int = 0,  # noqa: ARG001
    reduction: int = 1,
    zero_infinity: bool = False,  # noqa: ARG001
) -> Tensor:
    return log_probabilities.new_empty((log_probabilities.shape[1],) if reduction == EACH else ())


SHAPES: Mapping[OpOverload, Callable[..., object]] = {
    aten.cdist.default: _distances,
    aten.ctc_loss.Tensor: _of_samples,
}


def gaussian_nll_loss(
    mean: Tensor, target: Tensor, variance: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """As in `torch.nn.functional`: that a variance is bounded from below has no part in the gradient."""
    spread = variance.unsqueeze(-1) if variance.dim() < mean.dim() else variance
    bounded = spread + (spread.clamp(min=eps) - spread).detach()
    losses = 0.5 * (torch.log(bounded) + (mean - target) ** 2 / bounded)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()


FORMULAS: Mapping[object, Callable[..., object]] = {torch.nn.functional.gaussian_nll_loss: gaussian_nll_loss}


class _Formulas(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        return FORMULAS.get(func, func)(*args, **(kwargs or {}))
