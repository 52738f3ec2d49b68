"""The decompositions used for tracing: everything outside the core of ATen, and gradients that ONNX lacks."""

import functools
from collections.abc import Callable, Mapping

import torch
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._ops import OpOverload

from coterie.compile.gradients import activations, normalisation, slices
from coterie.compile.gradients.convolution import convolution_backward
from coterie.compile.gradients.embedding import embedding_backward
from coterie.compile.gradients.pooling import avg_pool2d_backward, max_pool2d_backward

aten = torch.ops.aten


@functools.cache
def decompositions() -> Mapping[OpOverload, Callable[..., object]]:
    """Decompositions by operator, as `make_fx` takes them."""
    table = core_aten_decompositions()
    for kept in (aten.threshold_backward.default, aten.eye.default, aten.eye.m):  # lowered as they are
        del table[kept]
    return {
        **table,
        **get_decompositions([aten.rsub, aten.stack]),
        aten.convolution_backward.default: convolution_backward,
        aten.avg_pool2d_backward.default: avg_pool2d_backward,
        aten.max_pool2d_with_indices_backward.default: max_pool2d_backward,
        aten.embedding_dense_backward.default: embedding_backward,
        aten.native_layer_norm.default: normalisation.native_layer_norm,
        aten.native_layer_norm_backward.default: normalisation.native_layer_norm_backward,
        aten.native_group_norm.default: normalisation.native_group_norm,
        aten.native_group_norm_backward.default: normalisation.native_group_norm_backward,
        aten.gelu.default: activations.gelu,
        aten.gelu_backward.default: activations.gelu_backward,
        aten.silu.default: activations.silu,
        aten.silu_backward.default: activations.silu_backward,
        aten.mish.default: activations.mish,
        aten.mish_backward.default: activations.mish_backward,
        aten._prelu_kernel.default: activations.prelu,
        aten._prelu_kernel_backward.default: activations.prelu_backward,
        aten.select_backward.default: slices.select_backward,
        aten.slice_backward.default: slices.slice_backward,
    }
