"""Operators of an exported program that are better taken apart before the gradient is taken than after."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch._decomp import decompositions as torch_decompositions

from coterie.learning.compile import recurrent, resampling
from coterie.learning.compile.resampling import resample

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
    """Group normalisation with a group for each channel; PyTorch goes by way of batch normalisation."""
    return torch.group_norm(x, x.shape[1], weight, bias, eps)


def adaptive_average(x: Tensor, output_size: Sequence[int]) -> Tensor:
    """A mean or an ordinary pool wherever the windows come out equal."""
    spatial, sizes = _spatial(x, output_size), [int(size) for size in output_size]
    if all(size == 1 for size in sizes):
        return x.mean(dim=list(range(-len(sizes), 0)), keepdim=True)
    if len(sizes) == 2 and all(here % size == 0 for here, size in zip(spatial, sizes, strict=True)):
        kernel = [here // size for here, size in zip(spatial, sizes, strict=True)]
        return torch.nn.functional.avg_pool2d(x, kernel)
    return resample(x, sizes, [resampling.averages] * len(sizes))


def adaptive_maximum(x: Tensor, output_size: Sequence[int]) -> tuple[Tensor, None]:
    """An ordinary pool, or the greatest of each window, axis by axis. The places of the maxima are not told."""
    spatial, sizes = _spatial(x, output_size), [int(size) for size in output_size]
    first = x.dim() - len(sizes)
    if len(sizes) == 2 and all(here % size == 0 for here, size in zip(spatial, sizes, strict=True)):
        kernel = [here // size for here, size in zip(spatial, sizes, strict=True)]
        return torch.nn.functional.max_pool2d(x, kernel), None
    # From the last axis to the first, so that of equal elements the first one wins, as in PyTorch.
    for axis, here, size in reversed(list(zip(range(first, x.dim()), spatial, sizes, strict=True))):
        windows = [resampling.window(place, here, size) for place in range(size)]
        x = torch.stack([x.narrow(axis, seen.start, len(seen)).max(dim=axis).values for seen in windows], dim=axis)
    return x, None


def average_pool_3d(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """An average is an average of averages, also at the borders: the counts of a window multiply."""
    sizes, weights = [], []
    for axis, here in enumerate(_spatial(x, range(3))):
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


def _resize(weigh: Callable[..., resampling.Weights], *, corners: bool) -> Mapping[str, Composite]:
    """The two overloads of a resizing operator; `corners`: whether it takes align_corners."""

    def resize(x: Tensor, sizes: Sequence[int] | None, scales: Sequence[float | None] | None, aligned: bool) -> Tensor:
        spatial = list(x.shape[2:])
        given = scales or [None] * len(spatial)
        wanted = sizes or [int(here * (scale or 1)) for here, scale in zip(spatial, given, strict=True)]
        options = {"align_corners": aligned} if corners else {}
        return resample(x, wanted, [weigh(scale, **options) for scale in given])

    def of_any(x: Tensor, sizes: Sequence[int] | None, *rest: object) -> Tensor:
        """``.vec``: sizes or scales, in one list."""
        aligned, scales = rest if corners else (False, *rest)
        assert scales is None or isinstance(scales, (list, tuple))
        return resize(x, sizes, scales, bool(aligned))

    def of_sizes(x: Tensor, sizes: Sequence[int], *rest: object) -> Tensor:
        """``.default``: sizes, and perhaps the scales they come from, one by one."""
        aligned, scales = (rest[0], rest[1:]) if corners else (False, rest)
        given = [scale if isinstance(scale, float) else None for scale in scales]
        return resize(x, sizes, given + [None] * (x.dim() - 2 - len(given)), bool(aligned))

    return {"vec": of_any, "default": of_sizes}


def _spatial(x: Tensor, axes: Sequence[int]) -> list[int]:
    """The sizes of the last axes, as many as `axes`."""
    sizes = list(x.shape[x.dim() - len(axes) :])
    if not all(isinstance(size, int) for size in sizes):
        raise NotImplementedError("it pools an axis whose size is dynamic: give the axis a fixed size")
    return sizes


def _of(values: Sequence[int], axis: int) -> int:
    return values[0] if len(values) == 1 else values[axis]


NEAREST = ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
NEAREST_EXACT = ("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
LINEAR = ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")


def _nearest(scale: float | None) -> resampling.Weights:
    return resampling.neighbours(scale, exact=False)


def _nearest_exact(scale: float | None) -> resampling.Weights:
    return resampling.neighbours(scale, exact=True)


def _linear(scale: float | None, *, align_corners: bool) -> resampling.Weights:
    return resampling.interpolation(scale, align_corners=align_corners, cubic=False)


def _cubic(scale: float | None, *, align_corners: bool) -> resampling.Weights:
    return resampling.interpolation(scale, align_corners=align_corners, cubic=True)


COMPOSITES: Mapping[str, Composite] = {
    "aten.instance_norm.default": instance_norm,
    **{f"aten.adaptive_avg_pool{rank}d.default": adaptive_average for rank in (1, 2, 3)},
    **{f"aten.adaptive_max_pool{rank}d.default": adaptive_maximum for rank in (1, 2, 3)},
    "aten.avg_pool3d.default": average_pool_3d,
    "aten.max_pool3d.default": maximum_pool_3d,
    **{
        f"aten.{name}.{overload}": composite
        for names, weigh, corners in (
            (NEAREST, _nearest, False),
            (NEAREST_EXACT, _nearest_exact, False),
            (LINEAR, _linear, True),
            (("upsample_bicubic2d",), _cubic, True),
        )
        for name in names
        for overload, composite in _resize(weigh, corners=corners).items()
    },
    # Loops over time, unrolled; the operators themselves write in place.
    "aten.gru.input": recurrent.gru,
    "aten.lstm.input": recurrent.lstm,
    "aten.rnn_tanh.input": torch_decompositions.rnn_tanh_input,
    "aten.rnn_relu.input": torch_decompositions.rnn_relu_input,
}
