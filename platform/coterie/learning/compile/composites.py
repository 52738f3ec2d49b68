"""Operators of an exported program that are better taken apart before the gradient is taken than after."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch._decomp import decompositions as torch_decompositions


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
    """Group normalisation with a group for each channel; PyTorch goes by way of batch normalisation."""
    return torch.group_norm(x, x.shape[1], weight, bias, eps)


def adaptive_avg_pool2d(x: Tensor, output_size: Sequence[int]) -> Tensor:
    """Ordinary pooling, wherever the windows come out equal."""
    ratios = [divmod(int(x.shape[2 + axis]), output_size[axis]) for axis in range(2)]
    if any(rest for _, rest in ratios):
        raise NotImplementedError("its windows differ in size: choose an output size that divides the input's")
    if tuple(output_size) == (1, 1):
        return x.mean(dim=[2, 3], keepdim=True)
    return torch.nn.functional.avg_pool2d(x, [size for size, _ in ratios])


COMPOSITES: Mapping[str, Callable[..., object]] = {
    "aten.instance_norm.default": instance_norm,
    "aten.adaptive_avg_pool2d.default": adaptive_avg_pool2d,
    # Loops over time, unrolled; the operators themselves write in place.
    "aten.gru.input": torch_decompositions.gru_impl,
    "aten.lstm.input": torch_decompositions.lstm_impl,
    "aten.rnn_tanh.input": torch_decompositions.rnn_tanh_input,
    "aten.rnn_relu.input": torch_decompositions.rnn_relu_input,
}
