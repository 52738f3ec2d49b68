"""Gradients of pooling, one axis after the other: k + k taps of a k × k window instead of k · k."""

import math
from collections.abc import Sequence
from types import NotImplementedType
from typing import NamedTuple

import torch
from torch import Tensor

aten = torch.ops.aten


class Windows(NamedTuple):
    """The pooling windows along one axis."""

    axis: int
    size: int
    """Of the input."""
    places: int
    kernel: int
    stride: int
    padding: int
    dilation: int = 1

    def but_last_tap(self, x: Tensor) -> Sequence[Tensor]:
        """The inputs of each tap of the windows except the last, at each place; minus infinity beyond the borders."""
        if self.axis == x.dim() - 1 and self.kernel > 1:
            seen = self.seen()[: self.kernel - 1].flatten(0, 1)
            beyond = torch.where(seen.sum(dim=1) > 0, 0.0, -math.inf)
            picked = torch.addmm(beyond, x.flatten(0, -2), seen.t()).reshape(*x.shape[:-1], -1)
            return torch.split(picked, self.places, dim=self.axis)
        padded = self._pad(x, self.padding, self._overhang, value=-math.inf)
        starts = [tap * self.dilation for tap in range(self.kernel - 1)]
        reach = (self.places - 1) * self.stride + 1
        return [aten.slice(padded, self.axis, start, start + reach, self.stride) for start in starts]

    def spread(self, shares: Sequence[Tensor]) -> Tensor:
        """The sum of the taps' `shares` at the element that each read."""
        if self.axis == shares[0].dim() - 1:
            return torch.cat(list(shares), dim=self.axis) @ self.seen().flatten(0, 1)
        return self._interleave(shares)

    def seen(self) -> Tensor:
        """Which element each tap reads at each place, as zeros and ones [kernel, places, size]."""
        starts = (torch.arange(self.places) * self.stride - self.padding).reshape(1, -1, 1)
        taps = (torch.arange(self.kernel) * self.dilation).reshape(-1, 1, 1)
        return (starts + taps == torch.arange(self.size)).to(torch.float32)

    def _interleave(self, shares: Sequence[Tensor]) -> Tensor:
        """Scatter rows. Places a stride apart form a separate grid; a tap adds to one such grid, shifted by whole
        places.

        The grids are interleaved at the end, so that no scatter operator is needed.
        """
        side = math.ceil(self._end / self.stride)
        grids: dict[int, Tensor] = {}
        for tap, share in enumerate(shares):
            shift, phase = divmod(tap * self.dilation, self.stride)
            placed = self._pad(share, shift, side - self.places - shift)
            grids[phase] = grids[phase] + placed if phase in grids else placed
        empty = torch.zeros_like(next(iter(grids.values())))
        phases = [grids.get(phase, empty) for phase in range(self.stride)]
        rows, axis = phases[0], self.axis
        if self.stride > 1:
            rows = torch.stack(phases, dim=axis + 1).flatten(axis, axis + 1)
        missing = max(0, self.padding + self.size - rows.shape[axis])
        return self._pad(rows, 0, missing).narrow(axis, self.padding, self.size)

    @property
    def _end(self) -> int:
        """Where the last window ends in the padded input; in ceil_mode it may extend beyond."""
        return (self.places - 1) * self.stride + (self.kernel - 1) * self.dilation + 1

    @property
    def _overhang(self) -> int:
        return max(0, self._end - self.padding - self.size)

    def _pad(self, x: Tensor, before: int, after: int, value: float = 0.0) -> Tensor:
        if not before and not after:
            return x
        return torch.nn.functional.pad(x, [0, 0] * (x.dim() - 1 - self.axis) + [before, after], value=value)

    def members(self) -> Tensor:
        """Whether a window contains an element, as zeros and ones [places, size]."""
        pixels, (starts, ends) = torch.arange(self.size), self._bounds()
        return (pixels >= starts).to(torch.float32) * (pixels < ends).to(torch.float32)

    def counts(self, *, count_include_pad: bool) -> Tensor:
        """How many elements each window averages, [places, 1]."""
        starts, ends = self._bounds()
        if not count_include_pad:
            starts, ends = torch.clamp(starts, min=0), torch.clamp(ends, max=self.size)
        return (ends - starts).to(torch.float32)

    def _bounds(self) -> tuple[Tensor, Tensor]:
        starts = (torch.arange(self.places) * self.stride - self.padding).unsqueeze(1)
        return starts, torch.clamp(starts + self.kernel, max=self.size + self.padding)


def _windows(
    x: Tensor,
    pooled: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int] = (1,),
) -> list[Windows]:
    """Of the last two axes."""
    steps = stride or kernel
    first = x.dim() - 2
    return [
        Windows(
            first + index,
            int(x.shape[first + index]),
            int(pooled.shape[first + index]),
            *(values[index % len(values)] for values in (kernel, steps, padding, dilation)),
        )
        for index in range(2)
    ]


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
    """Averaging is a matrix product for each axis, and so is its gradient."""
    windows = _windows(x, gradient, kernel_size, stride, padding)
    rows, columns = windows
    over_rows, over_columns = (each.members() for each in windows)
    if divisor_override is None:
        over_rows = over_rows / rows.counts(count_include_pad=count_include_pad)
        over_columns = over_columns / columns.counts(count_include_pad=count_include_pad)
    else:
        over_columns = over_columns / divisor_override
    planes = (gradient @ over_columns).reshape(-1, rows.places, columns.size)
    if rows.size == rows.kernel == 1 and not rows.padding:
        return planes.reshape(x.shape)  # a row alone is its own average
    return (over_rows.t().expand(planes.shape[0], rows.size, rows.places) @ planes).reshape(x.shape)


def max_pool2d_backward(
    gradient: Tensor,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Tensor,  # noqa: ARG001 - ONNX's runtimes are slow to give them
) -> Tensor | NotImplementedType:
    """Each window's gradient goes to its first greatest element, in order of rows, then columns.

    The greatest of a window is the greatest of its rows' greatest. Windows that tile the image are left to ONNX's
    operators.
    """
    rows, columns = _windows(x, gradient, kernel_size, stride, padding, dilation)
    if tiles(rows) and tiles(columns):
        return NotImplemented  # type: ignore[no-any-return]
    along_rows = aten.max_pool2d(
        x, [1, columns.kernel], [1, columns.stride], [0, columns.padding], [1, columns.dilation], ceil_mode
    )
    greatest = aten.max_pool2d(
        along_rows, [rows.kernel, 1], [rows.stride, 1], [rows.padding, 0], [rows.dilation, 1], ceil_mode
    )
    return _to_the_first(_to_the_first(gradient, along_rows, greatest, rows), x, along_rows, columns)


def tiles(windows: Windows) -> bool:
    """Whether the windows cover the axis without overlap or rest."""
    return (
        windows.kernel == windows.stride
        and not windows.padding
        and windows.dilation == 1
        and windows.places * windows.kernel == windows.size
    )


def _to_the_first(gradient: Tensor, x: Tensor, greatest: Tensor, windows: Windows) -> Tensor:
    remaining, shares = gradient, []
    for seen in windows.but_last_tap(x):
        share = torch.where(seen == greatest, remaining, 0.0)
        remaining = remaining - share
        shares.append(share)
    return windows.spread([*shares, remaining])
