"""Padding with a tensor's own elements, as joined slices of it."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Edge = Callable[[Tensor, int, int, int], list[Tensor]]


def pad(x: Tensor, amounts: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """`amounts` are (begin, end) from the last axis backwards."""
    edge = EDGES.get(mode)
    if edge is None:
        filled: Tensor = torch.ops.aten.constant_pad_nd(x, amounts, value or 0.0)
        return filled
    return _joined(x, amounts, edge)


def replicate(x: Tensor, amounts: Sequence[int]) -> Tensor:
    return _joined(x, amounts, _border)


def reflect(x: Tensor, amounts: Sequence[int]) -> Tensor:
    return _joined(x, amounts, _mirror)


def _joined(x: Tensor, amounts: Sequence[int], edge: Edge) -> Tensor:
    for place in range(0, len(amounts), 2):
        x = torch.cat(
            edge(x, x.dim() - 1 - place // 2, amounts[place], amounts[place + 1]), dim=x.dim() - 1 - place // 2
        )
    return x


def _cut(x: Tensor, begin: int, end: int, axis: int) -> Tensor:
    """Negative amounts crop."""
    start = max(-begin, 0)
    return x.narrow(axis, start, x.shape[axis] - start - max(-end, 0))


def _border(x: Tensor, axis: int, begin: int, end: int) -> list[Tensor]:
    x = _cut(x, begin, end, axis)

    def repeated(place: int, count: int) -> list[Tensor]:
        sizes = [-1] * x.dim()
        sizes[axis] = count
        return [x.narrow(axis, place, 1).expand(sizes)] if count > 0 else []

    return [*repeated(0, begin), x, *repeated(x.shape[axis] - 1, end)]


def _mirror(x: Tensor, axis: int, begin: int, end: int) -> list[Tensor]:
    x, size = _cut(x, begin, end, axis), x.shape[axis]
    before = [x.narrow(axis, 1, begin).flip(axis)] if begin > 0 else []
    after = [x.narrow(axis, size - 1 - end, end).flip(axis)] if end > 0 else []
    return [*before, x, *after]


def _wrap(x: Tensor, axis: int, begin: int, end: int) -> list[Tensor]:
    x, size = _cut(x, begin, end, axis), x.shape[axis]
    before = [x.narrow(axis, size - begin, begin)] if begin > 0 else []
    after = [x.narrow(axis, 0, end)] if end > 0 else []
    return [*before, x, *after]


EDGES = {"replicate": _border, "reflect": _mirror, "circular": _wrap}
