"""Normalisation by layer and by group, forward and backward, in as few passes over the elements as possible.

The gradient starts from the same deviations from the mean as the forward pass, so that they are computed once.
Formulas: Ba, Kiros and Hinton 2016 (arXiv 1607.06450); Wu and He 2018 (arXiv 1803.08494).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

Optional = Tensor | None


def native_layer_norm(
    x: Tensor, shape: Sequence[int], weight: Optional, bias: Optional, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The normalised x, the means and the reciprocal deviations; the latter two have axes of size 1."""
    axes = _last(shape)
    mean = x.mean(dim=axes, keepdim=True)
    off = x - mean
    scale = torch.rsqrt((off * off).mean(dim=axes, keepdim=True) + eps)
    y = off * scale
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias, mean, scale


def native_layer_norm_backward(
    gradient: Tensor,
    x: Tensor,
    shape: Sequence[int],
    mean: Tensor,
    scale: Tensor,
    weight: Optional,
    bias: Optional,
    output_mask: Sequence[bool],
) -> tuple[Optional, Optional, Optional]:
    """Gradients for x, weight and bias, those selected by `output_mask`."""
    axes, others = _last(shape), list(range(x.dim() - len(shape)))
    normal = (x - mean) * scale
    for_x = for_weight = for_bias = None
    along = gradient * normal
    if output_mask[0]:
        weighted = gradient if weight is None else gradient * weight
        pull = (along if weight is None else along * weight).mean(dim=axes, keepdim=True)
        for_x = (weighted - (normal * pull + weighted.mean(dim=axes, keepdim=True))) * scale
    if output_mask[1] and weight is not None:
        for_weight = along.sum(dim=others) if others else along
    if output_mask[2] and bias is not None:
        for_bias = gradient.sum(dim=others) if others else gradient
    return for_x, for_weight, for_bias


def native_group_norm(
    x: Tensor, weight: Optional, bias: Optional, batch: int, channels: int, places: int, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The normalised x; means and reciprocal deviations [batch, groups]."""
    together = x.reshape(batch, groups, channels // groups * places)
    mean = together.mean(dim=2)
    off = together - mean.unsqueeze(2)
    scale = torch.rsqrt((off * off).mean(dim=2) + eps)
    y = off.reshape(batch, channels, places) * _by_channel(scale, weight, channels)
    if bias is not None:
        y = y + bias.reshape(channels, 1)
    return y.reshape(x.shape), mean, scale


def native_group_norm_backward(
    gradient: Tensor,
    x: Tensor,
    mean: Tensor,
    scale: Tensor,
    weight: Optional,
    batch: int,
    channels: int,
    places: int,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Optional, Optional, Optional]:
    """Gradients for x, weight and bias, those selected by `output_mask`."""
    size = channels // groups * places
    off = x.reshape(batch, groups, size) - mean.unsqueeze(2)
    given = gradient.reshape(batch, channels, places)
    # [batch, groups, channels of a group]
    along, whole = (
        part.sum(dim=2).reshape(batch, groups, channels // groups)
        for part in (given * off.reshape(batch, channels, places), given)
    )
    for_x = for_weight = for_bias = None
    if output_mask[0]:
        per_group = None if weight is None else weight.reshape(1, groups, channels // groups)
        pull, level = (
            (part if per_group is None else part * per_group).sum(dim=2, keepdim=True) for part in (along, whole)
        )
        deviation = scale.unsqueeze(2)
        pull, level = pull * deviation * deviation * deviation / size, level * deviation / size
        direct = (given * _by_channel(scale, weight, channels)).reshape(batch, groups, size)
        for_x = (direct - (off * pull + level)).reshape(x.shape)
    if output_mask[1] and weight is not None:
        for_weight = (along * scale.unsqueeze(2)).sum(dim=0).reshape(channels)
    if output_mask[2]:
        for_bias = whole.sum(dim=0).reshape(channels)
    return for_x, for_weight, for_bias


def _last(shape: Sequence[int]) -> list[int]:
    return list(range(-len(shape), 0))


def _by_channel(scale: Tensor, weight: Optional, channels: int) -> Tensor:
    """The factor of each channel of each sample, [batch, channels, 1]."""
    batch, groups = scale.shape
    each = scale.reshape(batch, groups, 1)
    if weight is None:
        return each.expand(batch, groups, channels // groups).reshape(batch, channels, 1)
    return (each * weight.reshape(1, groups, channels // groups)).reshape(batch, channels, 1)
