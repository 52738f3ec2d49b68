"""Gradients of convolution and pooling in operators that ONNX has.

PyTorch computes them with operators of their own (``convolution_backward``, ``avg_pool2d_backward``, ...),
for which ONNX has no counterpart.
"""

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._ops import OpOverload

aten = torch.ops.aten


@functools.cache
def decompositions() -> Mapping[OpOverload, Callable[..., object]]:
    """What tracing replaces: everything outside the core of ATen, and the gradients below."""
    return {
        **core_aten_decompositions(),
        **get_decompositions([aten.native_layer_norm, aten.native_group_norm, aten.rsub, aten.stack]),
        aten.convolution_backward.default: convolution_backward,
        aten.avg_pool2d_backward.default: avg_pool2d_backward,
        aten.embedding_dense_backward.default: embedding_backward,
    }


def convolution_backward(
    gradient: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,  # noqa: ARG001 - the gradient's shape tells
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],  # noqa: ARG001
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Gradients for input, weight and bias, those that `output_mask` asks for."""
    want_input, want_weight, want_bias = output_mask
    spatial = len(stride)
    for_input = for_weight = for_bias = None
    if want_bias:
        for_bias = gradient.sum(dim=[0, *range(2, 2 + spatial)])
    if want_input:
        reverse_padding = (
            [0] * spatial if transposed else _output_padding(x, weight, gradient, stride, padding, dilation)
        )
        for_input = aten.convolution(
            gradient, weight, None, stride, padding, dilation, not transposed, reverse_padding, groups
        )
    if want_weight:
        # A transposed convolution is the input gradient of a plain one: both change places.
        big, small = (gradient, x) if transposed else (x, gradient)
        if groups == 1 and all(step == 1 for step in stride):
            for_weight = _weight_gradient_by_product(big, small, weight, padding, dilation)
        else:
            for_weight = _weight_gradient(big, small, weight, stride, padding, dilation, groups)
    return for_input, for_weight, for_bias


def _output_padding(
    x: Tensor,
    weight: Tensor,
    gradient: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """What a strided convolution left over at the end of each axis."""
    return [
        x.shape[2 + axis]
        - ((gradient.shape[2 + axis] - 1) * stride[axis] - 2 * padding[axis])
        - dilation[axis] * (weight.shape[2 + axis] - 1)
        - 1
        for axis in range(len(stride))
    ]


def _weight_gradient(
    big: Tensor,
    small: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """Sum over samples and places of `small` times the patch of `big` it came from.

    That is a convolution of `big` by `small`, batch and channels swapped, stride and dilation swapped.
    """
    batch, spatial = big.shape[0], len(stride)
    per_group = big.shape[1] // groups
    rest = range(3, 3 + spatial)
    grouped = big.reshape(batch, groups, per_group, *big.shape[2:]).permute(2, 1, 0, *rest)
    image = grouped.reshape(per_group, groups * batch, *big.shape[2:])
    found: Tensor = aten.convolution(
        image, small.transpose(0, 1), None, dilation, padding, stride, False, [0] * spatial, groups
    ).transpose(0, 1)
    # A stride that does not divide the input leaves places that no tap of the kernel saw.
    for axis, size in enumerate(weight.shape[2:], start=2):
        if found.shape[axis] != size:
            found = found.narrow(axis, 0, size)
    return found


def _weight_gradient_by_product(
    big: Tensor, small: Tensor, weight: Tensor, padding: Sequence[int], dilation: Sequence[int]
) -> Tensor:
    """The same for a dense convolution without stride, where a matrix product for each sample is quicker."""
    kernel, places = weight.shape[2:], small.shape[2:]
    padded = torch.nn.functional.pad(big, [amount for amount in reversed(padding) for _ in range(2)])
    views = []
    for tap in itertools.product(*(range(size) for size in kernel)):
        view = padded
        for axis, offset in enumerate(tap):
            view = view.narrow(2 + axis, offset * dilation[axis], places[axis])
        views.append(view)
    patches = torch.cat(views, dim=1).flatten(2)
    # [batch, out, places] times [batch, places, taps · in], summed over the batch
    product = torch.bmm(small.flatten(2), patches.transpose(1, 2)).sum(dim=0)
    taps_last = range(1, 1 + len(kernel))
    return product.reshape(small.shape[1], *kernel, big.shape[1]).permute(0, 1 + len(kernel), *taps_last)


def avg_pool2d_backward(
    gradient: Tensor,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,  # noqa: ARG001 - the gradient's shape tells
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    """Each window's gradient is shared out evenly over its elements."""
    window = _Window(x, gradient, kernel_size, stride, padding, (1, 1))
    share = gradient * window.reciprocal_counts(count_include_pad=count_include_pad, divisor=divisor_override)
    return window.gather(dict.fromkeys(itertools.product(*(range(size) for size in window.kernel)), share))


def embedding_backward(
    gradient: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """A small vocabulary as one matrix product with one-hot rows; a large one by adding rows in place."""
    if scale_grad_by_freq:
        raise NotImplementedError("gradients scaled by frequency")
    rows, places = gradient.reshape(-1, gradient.shape[-1]), indices.reshape(-1)
    if padding_idx >= 0:
        rows = torch.where((places == padding_idx).unsqueeze(1), 0.0, rows)
    if num_weights <= SMALL_VOCABULARY:
        hot = (places.unsqueeze(0) == torch.arange(num_weights).unsqueeze(1)).to(gradient.dtype)
        return hot @ rows
    return rows.new_zeros(num_weights, rows.shape[1]).index_put([places], rows, accumulate=True)


SMALL_VOCABULARY = 512


class _Window:
    """The geometry of a pooling window over x [batch, channels, height, width]."""

    def __init__(
        self,
        x: Tensor,
        pooled: Tensor,
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
    ) -> None:
        self.shape = tuple(x.shape)
        self.kernel, self.padding, self.dilation = _pair(kernel), _pair(padding), _pair(dilation)
        self.stride = _pair(stride) if len(stride) else self.kernel
        self.places = tuple(pooled.shape[2:])
        # A last window may overhang the padded input (ceil_mode), and input may be left over that no window reaches.
        self.reach = [
            (self.places[axis] - 1) * self.stride[axis] + (self.kernel[axis] - 1) * self.dilation[axis] + 1
            for axis in range(2)
        ]

    def gather(self, shares: Mapping[tuple[int, ...], Tensor]) -> Tensor:
        """The sum of what each tap gives to the element it sees.

        The elements a stride apart form a grid of their own; a tap adds to one such grid, shifted by whole places. The
        grids are interleaved at the end, so that nothing is scattered.
        """
        sides = [math.ceil(self.reach[axis] / self.stride[axis]) for axis in range(2)]
        grids: dict[tuple[int, int], Tensor] = {}
        for (row, column), share in shares.items():
            offset = (row * self.dilation[0], column * self.dilation[1])
            phase = (offset[0] % self.stride[0], offset[1] % self.stride[1])
            shift = (offset[0] // self.stride[0], offset[1] // self.stride[1])
            ends = [sides[axis] - self.places[axis] - shift[axis] for axis in range(2)]
            placed = (
                torch.nn.functional.pad(share, (shift[1], ends[1], shift[0], ends[0]))
                if any((*shift, *ends))
                else share
            )
            grids[phase] = grids[phase] + placed if phase in grids else placed
        return self._crop(self._interleave(grids, sides))

    def _interleave(self, grids: Mapping[tuple[int, int], Tensor], sides: Sequence[int]) -> Tensor:
        phases = list(itertools.product(range(self.stride[0]), range(self.stride[1])))
        if len(phases) == 1:
            return grids[0, 0]
        batch, channels = self.shape[:2]
        empty = next(iter(grids.values())).new_zeros(batch, channels, *sides)
        stacked = torch.stack([grids.get(phase, empty) for phase in phases], dim=2)
        split = stacked.reshape(batch, channels, *self.stride, *sides).permute(0, 1, 4, 2, 5, 3)
        return split.reshape(batch, channels, sides[0] * self.stride[0], sides[1] * self.stride[1])

    def _crop(self, padded: Tensor) -> Tensor:
        for axis in range(2):
            start, size = self.padding[axis], self.shape[2 + axis]
            missing = start + size - padded.shape[2 + axis]
            if missing > 0:
                amounts = (0, 0, 0, missing) if axis == 0 else (0, missing)
                padded = torch.nn.functional.pad(padded, amounts)
            if start or padded.shape[2 + axis] != size:
                padded = padded.narrow(2 + axis, start, size)
        return padded

    def reciprocal_counts(self, *, count_include_pad: bool, divisor: int | None) -> Tensor:
        """One over the number of elements that each window averages, [1, 1, *places]."""
        counts = []
        for axis in range(2):
            starts = torch.arange(self.places[axis]) * self.stride[axis] - self.padding[axis]
            ends = torch.clamp(starts + self.kernel[axis], max=self.shape[2 + axis] + self.padding[axis])
            if not count_include_pad:
                starts, ends = torch.clamp(starts, min=0), torch.clamp(ends, max=self.shape[2 + axis])
            counts.append((ends - starts).to(torch.float32))
        if divisor is not None:
            return torch.full((1, 1, 1, 1), 1.0 / divisor)
        return 1.0 / (counts[0][:, None] * counts[1][None, :]).reshape(1, 1, *self.places)


def _pair(sizes: Sequence[int]) -> tuple[int, int]:
    return (sizes[0], sizes[0]) if len(sizes) == 1 else (sizes[0], sizes[1])
