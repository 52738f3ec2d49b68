"""Batch normalisation (Ioffe and Szegedy 2015, arXiv 1502.03167), over the samples of a batch that are not padding."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Normalised(NamedTuple):
    """What batch normalisation gives, and the statistics that it has gathered [channels]."""

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
        """With the statistics that were gathered: a scale and a shift for each channel."""
        scale = torch.rsqrt(self.running_variance + self.epsilon)
        if self.weight is not None:
            scale = scale * self.weight
        shift = -self.running_mean * scale
        if self.bias is not None:
            shift = shift + self.bias
        return self.x * self._column(scale) + self._column(shift)

    def in_training(self, present: Tensor) -> Normalised:
        """With the batch's own statistics, over the samples that are `present` [batch], 1 or 0.

        As PyTorch, the statistics that are gathered take the unbiased variance. A channel with a single value, which
        PyTorch refuses, has variance 0.
        """
        mask = self._rows(present)
        axes = [0, *range(2, self.x.dim())]
        places = self.x[0, 0].numel()
        count = torch.clamp(mask.sum() * places, min=1.0)
        mean = (self.x * mask).sum(axes) / count
        centred = self.x - self._column(mean)
        variance = (centred * centred * mask).sum(axes) / count
        scale = torch.rsqrt(variance + self.epsilon)
        if self.weight is not None:
            scale = scale * self.weight
        output = centred * self._column(scale)
        if self.bias is not None:
            output = output + self._column(self.bias)
        unbiased = variance.detach() * (count / torch.clamp(count - 1, min=1.0))
        # A batch without samples has nothing to gather.
        share = self.momentum * torch.clamp(mask.sum(), max=1.0)
        return Normalised(
            output,
            self.running_mean + share * (mean.detach() - self.running_mean),
            self.running_variance + share * (unbiased - self.running_variance),
        )

    def _rows(self, present: Tensor) -> Tensor:
        rows, batch = self.x.shape[0], present.shape[0]
        if rows % batch:
            raise ValueError(f"its input has {rows} rows for a batch of {batch}")
        mask = present if rows == batch else present.unsqueeze(1).expand(batch, rows // batch).reshape(rows)
        return mask.reshape(rows, *_ones(self.x))

    def _column(self, channels: Tensor) -> Tensor:
        return channels.reshape(-1, *_ones(self.x)[1:])


def _ones(x: Tensor) -> Sequence[int]:
    return [1] * (x.dim() - 1)
