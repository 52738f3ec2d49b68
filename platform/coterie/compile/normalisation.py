"""Batch normalisation (Ioffe and Szegedy 2015, arXiv 1502.03167), over the samples of a batch that are not padding.

Sums over places come first, for each row and channel, and padding is excluded from these few numbers: no operator
visits every element because of padding.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from coterie.compile.scaling import scale_and_shift, scale_and_shift_rows


class _Context(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]


class ByShares(torch.autograd.Function):
    """x [rows, channels, ...] normalised by its own statistics, in which each row has its share [rows]."""

    @staticmethod
    def forward(
        x: Tensor, weight: Tensor, bias: Tensor, share: Tensor, epsilon: float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The output, mean and variance [channels]; then the tensors that the gradient needs."""
        mean = _shared(_over_places(x), share) / _places(x)
        off = scale_and_shift(x, torch.ones_like(mean), -mean)
        variance = _shared(_over_places(off * off), share) / _places(x)
        scale = torch.rsqrt(variance + epsilon)
        return scale_and_shift(off, scale * weight, bias), mean, variance, off, scale

    @staticmethod
    def setup_context(ctx: _Context, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(inputs[1], inputs[3], *output[3:])

    @staticmethod
    def backward(ctx: _Context, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        gradient = gradients[0]
        weight, share, off, scale = ctx.saved_tensors
        # [channels]
        along, whole = _over_places(gradient * off).sum(0), _over_places(gradient).sum(0)
        gain = scale * weight
        by_row = share.unsqueeze(1) / _places(off)
        pull, level = by_row * (gain * scale * scale * along), by_row * (gain * whole)
        direct = scale_and_shift(gradient, gain, torch.zeros_like(gain))
        return direct - scale_and_shift_rows(off, pull, level), along * scale, whole, None, None


def _over_places(x: Tensor) -> Tensor:
    """The sums of each row and channel, [rows, channels]."""
    return x.sum(list(range(2, x.dim()))) if x.dim() > 2 else x


def _places(x: Tensor) -> int:
    return x[0, 0].numel()


def _shared(sums: Tensor, share: Tensor) -> Tensor:
    """The weighted sum of [rows, channels] over the rows, for each channel."""
    return (sums * share.unsqueeze(1)).sum(0)


class Normalised(NamedTuple):
    """The output of batch normalisation, and the updated running statistics [channels]."""

    output: Tensor
    mean: Tensor
    variance: Tensor


class BatchNorm(NamedTuple):
    """The arguments of ``aten.batch_norm``."""

    x: Tensor
    """[rows, channels, ...]; a sample may have several rows."""
    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor
    running_variance: Tensor
    training: bool
    momentum: float
    epsilon: float
    cudnn_enabled: bool

    def in_service(self) -> Tensor:
        """With the running statistics: a scale and a shift for each channel."""
        scale = torch.rsqrt(self.running_variance + self.epsilon)
        if self.weight is not None:
            scale = scale * self.weight
        shift = -self.running_mean * scale
        if self.bias is not None:
            shift = shift + self.bias
        return scale_and_shift(self.x, scale, shift)

    def in_training(self, present: Tensor) -> Normalised:
        """With the batch's own statistics, over the samples that are `present` [batch], 1 or 0.

        As in PyTorch, the running variance uses the unbiased variance. A channel with a single value, which PyTorch
        refuses, has variance 0.
        """
        if not all(isinstance(size, int) for size in self.x.shape[2:]):
            raise NotImplementedError(
                "it would gather statistics of padding, which ends short samples: use LayerNorm over the features"
            )
        mask = self._rows(present)
        rows = mask.sum()
        weight = torch.ones_like(self.running_mean) if self.weight is None else self.weight
        bias = torch.zeros_like(self.running_mean) if self.bias is None else self.bias
        share = mask / torch.clamp(rows, min=1.0)
        output, mean, variance, *_ = ByShares.apply(self.x, weight, bias, share, self.epsilon)  # type: ignore[no-untyped-call]
        count = rows * _places(self.x)
        unbiased = variance * (count / torch.clamp(count - 1, min=1.0))
        # A batch without samples does not update the statistics.
        pace = self.momentum * torch.clamp(rows, max=1.0)
        return Normalised(
            output,
            self.running_mean + pace * (mean - self.running_mean),
            self.running_variance + pace * (unbiased - self.running_variance),
        )

    def _rows(self, present: Tensor) -> Tensor:
        rows, batch = self.x.shape[0], present.shape[0]
        if rows % batch:
            raise ValueError(f"its input has {rows} rows for a batch of {batch}")
        return present if rows == batch else present.unsqueeze(1).expand(batch, rows // batch).reshape(rows)
