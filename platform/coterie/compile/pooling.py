"""Pooling operators that ONNX or our gradients lack, by those that exist."""

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from coterie.compile import resampling
from coterie.compile.resampling import resample


def adaptive_average(x: Tensor, output_size: Sequence[int]) -> Tensor:
    """A mean or an ordinary pool wherever all windows are equal."""
    spatial, sizes = _spatial(x, output_size), [int(size) for size in output_size]
    if all(size == 1 for size in sizes):
        return x.mean(dim=list(range(-len(sizes), 0)), keepdim=True)
    if len(sizes) == 2 and all(here % size == 0 for here, size in zip(spatial, sizes, strict=True)):
        kernel = [here // size for here, size in zip(spatial, sizes, strict=True)]
        return torch.nn.functional.avg_pool2d(x, kernel)
    return resample(x, sizes, [resampling.averages] * len(sizes))


def adaptive_maximum(x: Tensor, output_size: Sequence[int]) -> tuple[Tensor, None]:
    """An ordinary pool, or the maximum of each window, axis by axis. The indices of the maxima are not returned."""
    spatial, sizes = _spatial(x, output_size), [int(size) for size in output_size]
    first = x.dim() - len(sizes)
    alike = [_alike(here, size) for here, size in zip(spatial, sizes, strict=True)]
    if len(sizes) == 2 and all(alike):
        kernel, stride = zip(*filter(None, alike), strict=True)
        return torch.nn.functional.max_pool2d(x, kernel, stride), None
    # From the last axis to the first, so that of equal elements the first one wins, as in PyTorch.
    for axis, here, size in reversed(list(zip(range(first, x.dim()), spatial, sizes, strict=True))):
        windows = [resampling.window(place, here, size) for place in range(size)]
        x = torch.stack([x.narrow(axis, seen.start, len(seen)).max(dim=axis).values for seen in windows], dim=axis)
    return x, None


def _alike(inputs: int, outputs: int) -> tuple[int, int] | None:
    """Size and stride of the windows of adaptive pooling along an axis, where these are equal."""
    windows = [resampling.window(place, inputs, outputs) for place in range(outputs)]
    sizes = {len(seen) for seen in windows}
    steps = {after.start - before.start for before, after in itertools.pairwise(windows)} or {inputs}
    return (sizes.pop(), steps.pop()) if len(sizes) == len(steps) == 1 else None


def average_pool(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """An average is an average of averages, also at the borders: the counts of a window multiply."""
    if x.dim() == 4 and divisor_override is None:
        options = (kernel_size, stride, padding, ceil_mode, count_include_pad)
        pooled: Tensor = torch.ops.aten.avg_pool2d.default(x, *options)
        return pooled
    sizes, weights = [], []
    for axis, here in enumerate(_spatial(x, range(x.dim() - 2))):
        kernel, pad = _of(kernel_size, axis), _of(padding, axis)
        outputs_of, weigh = resampling.pooled_averages(
            kernel,
            _of(stride, axis) if stride else kernel,
            pad,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor=None if divisor_override is None else (divisor_override if axis == 0 else 1),
        )
        sizes.append(outputs_of(here))
        weights.append(weigh)
    return resample(x, sizes, weights)


def maximum_pool_3d(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Tensor:
    """Planes first, then through the planes."""
    kernel, step, pad, apart = (
        [_of(values, axis) for axis in range(3)] for values in (kernel_size, stride or kernel_size, padding, dilation)
    )
    pool = torch.nn.functional.max_pool2d
    plane = pool(x.flatten(1, 2), kernel[1:], step[1:], pad[1:], apart[1:], ceil_mode)
    columns = plane.reshape(*x.shape[:3], -1)
    through = pool(columns, (kernel[0], 1), (step[0], 1), (pad[0], 0), (apart[0], 1), ceil_mode)
    return through.reshape(*through.shape[:3], *plane.shape[2:])


def _spatial(x: Tensor, axes: Sequence[int]) -> list[int]:
    """The sizes of the last axes, as many as `axes`."""
    sizes = list(x.shape[x.dim() - len(axes) :])
    if not all(isinstance(size, int) for size in sizes):
        raise NotImplementedError("it pools an axis whose size is dynamic: give the axis a fixed size")
    return sizes


def _of(values: Sequence[int], axis: int) -> int:
    return values[0] if len(values) == 1 else values[axis]
