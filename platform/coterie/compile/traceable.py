"""Operators that PyTorch refuses to export, although graphs can compute them, and what it exports as something else.

It looks into `torch.cdist` and CTC loss, and finds questions about the batch; of the variances of a Gaussian, and of
what `torch.distributions` take, it asks whether all are valid, and of a mask whether it is causal; `spectral_norm`
writes by ``out=``. Here the first are told by their shapes, the second is told by its formula, nothing is asked, and
what was computed is written afterwards. Bags of words of one size are embedded and joined. Gradients of the user's own,
which it leaves out in silence, are refused.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.autograd import Function
from torch.distributions import Distribution
from torch.nn import functional
from torch.nn.modules import transformer
from torch.overrides import TorchFunctionMode

from coterie.compile.packed import packed_sequences
from coterie.compile.whole_layers import shapes_only

aten = torch.ops.aten
ApplyMethod: TypeAlias = "classmethod[Function, ..., object]"
EACH = 0
"""The reduction that returns the losses of single samples."""


@contextmanager
def traceable() -> Iterator[None]:
    """Within the block, more operators can be exported; functions with custom gradients raise TypeError."""
    validates, detect = Distribution._validate_args, transformer._detect_is_causal_mask
    own_gradients = Function.__dict__["apply"]
    Distribution.set_default_validate_args(False)
    transformer._detect_is_causal_mask = _is_declared_causal
    Function.apply = classmethod(partial(_applied, own_gradients))  # type: ignore[method-assign, assignment]
    try:
        with shapes_only(SHAPES), packed_sequences(), _Formulas():
            yield
    finally:
        Distribution.set_default_validate_args(validates)
        transformer._detect_is_causal_mask = detect
        Function.apply = own_gradients  # type: ignore[method-assign]


def _applied(apply: ApplyMethod, kind: type[Function], *args: object, **kwargs: object) -> object:
    """What `Function.apply` gives of PyTorch's own functions, whose gradients are those of what they compute."""
    if kind.__module__.partition(".")[0] != "torch":
        raise TypeError(f"{kind.__name__} is a torch.autograd.Function")
    return apply.__get__(None, kind)(*args, **kwargs)


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
    """As in `torch.nn.functional`: the lower bound of a variance has no gradient."""
    spread = variance.unsqueeze(-1) if variance.dim() < mean.dim() else variance
    bounded = spread + (spread.clamp(min=eps) - spread).detach()
    losses = 0.5 * (torch.log(bounded) + (mean - target) ** 2 / bounded)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """As in `torch.nn.functional`."""
    found = x / x.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(x)
    return found if out is None else out.copy_(found)


def _is_declared_causal(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:  # noqa: ARG001
    """True for a given mask, whether or not it is causal."""
    return is_causal is True


def embedding_bag(
    words: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """As in `torch.nn.functional`, of bags [batch, words]; bags of different sizes are left to PyTorch."""
    if words.dim() != 2 or offsets is not None or max_norm is not None:
        return functional.embedding_bag(
            words,
            weight,
            offsets,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            per_sample_weights,
            include_last_offset,
            padding_idx,
        )
    found = functional.embedding(words, weight, padding_idx)
    counted = torch.ones_like(found[..., :1]) if padding_idx is None else (words != padding_idx).unsqueeze(-1)
    if mode == "max":
        most = torch.where(counted > 0, found, -torch.inf).amax(dim=1)
        return torch.where(counted.sum(dim=1) > 0, most, 0.0)
    weights = counted.to(found.dtype)
    total = (found * (weights if per_sample_weights is None else weights * per_sample_weights.unsqueeze(-1))).sum(dim=1)
    return total / weights.sum(dim=1).clamp(min=1) if mode == "mean" else total


FORMULAS: Mapping[object, Callable[..., object]] = {
    functional.gaussian_nll_loss: gaussian_nll_loss,
    functional.normalize: normalize,
    functional.embedding_bag: embedding_bag,
}


class _Formulas(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        return FORMULAS.get(func, func)(*args, **(kwargs or {}))
