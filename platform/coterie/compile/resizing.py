"""Up- and downsampling of images, lines and volumes."""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from coterie.compile import resampling
from coterie.compile.resampling import resample

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


def _resize(weigh: Callable[..., resampling.Weights], *, corners: bool) -> Mapping[str, Callable[..., Tensor]]:
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
        """``.default``: sizes, and possibly the scales they come from, one by one."""
        aligned, scales = (rest[0], rest[1:]) if corners else (False, rest)
        given = [scale if isinstance(scale, float) else None for scale in scales]
        return resize(x, sizes, given + [None] * (x.dim() - 2 - len(given)), bool(aligned))

    return {"vec": of_any, "default": of_sizes}


RESIZES: Mapping[str, Callable[..., Tensor]] = {
    f"aten.{name}.{overload}": composite
    for names, weigh, corners in (
        (NEAREST, _nearest, False),
        (NEAREST_EXACT, _nearest_exact, False),
        (LINEAR, _linear, True),
        (("upsample_bicubic2d",), _cubic, True),
    )
    for name in names
    for overload, composite in _resize(weigh, corners=corners).items()
}
