"""Operators of an exported program that are decomposed before the gradient is taken."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch._decomp import decompositions as torch_decompositions

from coterie.compile import columns, ctc, draws, padding, pooling, recurrent, scans
from coterie.compile.attention import scaled_dot_product_attention
from coterie.compile.dropout import dropout
from coterie.compile.resizing import RESIZES

Composite = Callable[..., object]


def instance_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,  # noqa: ARG001 - programs with running statistics are refused before
    running_var: Tensor | None,  # noqa: ARG001
    use_input_stats: bool,  # noqa: ARG001
    momentum: float,  # noqa: ARG001
    eps: float,
    cudnn_enabled: bool,  # noqa: ARG001
) -> Tensor:
    """Group normalisation with a group for each channel; PyTorch would use batch normalisation."""
    return torch.group_norm(x, x.shape[1], weight, bias, eps)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """nn.Linear as one product over all positions, where PyTorch's gradient would specialise the length of samples."""
    if not torch.is_grad_enabled() or all(isinstance(size, int) for size in x.shape):
        return torch.nn.functional.linear(x, weight, bias)
    rows = x.reshape(-1, x.shape[-1])
    found = rows @ weight.t() if bias is None else torch.addmm(bias, rows, weight.t())
    return found.reshape(*x.shape[:-1], weight.shape[0])


def bilinear(left: Tensor, right: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """nn.Bilinear: for each output a quadratic form of both inputs."""
    found = torch.einsum("...i,oij,...j->...o", left, weight, right)
    return found if bias is None else found + bias


def pairwise_distances(left: Tensor, right: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:  # noqa: ARG001
    """torch.cdist, without its shortcut by matrix products."""
    found: Tensor = torch.linalg.vector_norm(left.unsqueeze(-2) - right.unsqueeze(-3), ord=p, dim=-1)
    return found


def weight_norm(direction: Tensor, length: Tensor, dim: int = 0) -> Tensor:
    """A weight as its direction times its length, over all axes but `dim` (Salimans and Kingma 2016, arXiv 1602.07868).

    PyTorch's own gradient of it is one operator.
    """
    return direction * (length / torch.norm_except_dim(direction, 2, dim))


def largest(x: Tensor) -> Tensor:
    """The maximum of all elements; equal maxima share the gradient."""
    return x.amax()


def smallest(x: Tensor) -> Tensor:
    """The minimum of all elements; equal minima share the gradient."""
    return x.amin()


def eye(rows: int, columns: int | None = None, dtype: torch.dtype | None = None, **options: object) -> Tensor:  # noqa: ARG001
    """torch.eye, of any size."""
    count = rows if columns is None else columns
    if isinstance(rows, int) and isinstance(count, int):
        return torch.eye(rows, count, dtype=dtype)
    return (torch.arange(rows).unsqueeze(1) == torch.arange(count)).to(dtype or torch.get_default_dtype())


def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Gathered by index; PyTorch would return a strided view."""
    rows, columns = x.shape[dim1], x.shape[dim2]
    start = torch.arange(min(rows + min(offset, 0), columns - max(offset, 0)))
    matrices = x.movedim((dim1, dim2), (-2, -1))
    return matrices[..., start - min(offset, 0), start + max(offset, 0)]


def windows(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Tensor.unfold: overlapping windows along an axis, the window's elements last."""
    dimension %= x.dim()
    places = (x.shape[dimension] - size) // step + 1
    taps = [
        x.narrow(dimension, tap, (places - 1) * step + 1)[(slice(None),) * dimension + (slice(None, None, step),)]
        for tap in range(size)
    ]
    return torch.stack(taps, dim=-1)


COMPOSITES: Mapping[str, Composite] = {
    "aten.linear.default": linear,
    "aten.dropout.default": dropout,
    "aten.instance_norm.default": instance_norm,
    "aten.bilinear.default": bilinear,
    "aten.cdist.default": pairwise_distances,
    "aten.ctc_loss.Tensor": ctc.ctc_loss,
    "aten.conv2d.default": columns.conv2d,
    "aten.randn.default": draws.gaussian,
    "aten.randn_like.default": draws.gaussian_like,
    "aten._weight_norm.default": weight_norm,
    "aten.max.default": largest,
    "aten.min.default": smallest,
    "aten.diagonal.default": diagonal,
    "aten.eye.default": eye,
    "aten.eye.m": eye,
    "aten.unfold.default": windows,
    "aten.avg_pool2d.default": pooling.average_pool,
    "aten.avg_pool3d.default": pooling.average_pool,
    "aten.max_pool3d.default": pooling.maximum_pool_3d,
    **{f"aten.adaptive_avg_pool{rank}d.default": pooling.adaptive_average for rank in (1, 2, 3)},
    **{f"aten.adaptive_max_pool{rank}d.default": pooling.adaptive_maximum for rank in (1, 2, 3)},
    **RESIZES,
    "aten.pad.default": padding.pad,
    **{f"aten.replication_pad{rank}d.default": padding.replicate for rank in (1, 2, 3)},
    **{f"aten.reflection_pad{rank}d.default": padding.reflect for rank in (1, 2, 3)},
    "aten.cumprod.default": scans.running_product,
    "aten.logcumsumexp.default": scans.running_log_sum_exp,
    "aten.cummax.default": scans.running_maximum,
    "aten.cummin.default": scans.running_minimum,
    "aten.prod.dim_int": scans.product,
    "aten.grid_sampler.default": torch_decompositions.grid_sampler_2d,
    "aten.grid_sampler_2d.default": torch_decompositions.grid_sampler_2d,
    "aten.scaled_dot_product_attention.default": scaled_dot_product_attention,
    # Loops over time; the original operators write in place.
    "aten.gru.input": recurrent.gru,
    "aten.lstm.input": recurrent.lstm,
    "aten.rnn_tanh.input": recurrent.rnn_tanh,
    "aten.rnn_relu.input": recurrent.rnn_relu,
}
