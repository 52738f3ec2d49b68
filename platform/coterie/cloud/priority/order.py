"""Pieces of layers, and the one order in which all workers send them.

Gloo's collectives must begin in one order everywhere, and negotiating it piece by piece costs more than it gains. So
the order is computed once, from the times at which layers' gradients were ready in timed steps.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple


class Piece(NamedTuple):
    """A part of a layer's gradients. Layers are numbered in the order in which forward passes need them."""

    layer: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many numbers."""
        return self.stop - self.start


def numbers_in(kib: int) -> int:
    """How many numbers a piece of so many KiB has."""
    return 256 * kib


def cut(sizes: Sequence[int], most: int) -> list[Piece]:
    """Layers of so many numbers in pieces of at most `most`, in the order of need."""
    return [
        Piece(layer, start, min(size, start + most))
        for layer, size in enumerate(sizes)
        for start in range(0, size, most)
    ]


def static_order(pieces: Sequence[Piece], ready_s: Sequence[float], number_s: float) -> list[Piece]:
    """The order of a link that takes `number_s` seconds per number and always sends the ready piece that is needed
    first.

    `ready_s`: when each layer's gradients are ready, in seconds from the beginning of a backward pass.
    """
    coming = [(ready_s[piece.layer], piece) for piece in pieces]
    heapify(coming)
    waiting: list[Piece] = []
    order: list[Piece] = []
    clock = 0.0
    while coming or waiting:
        if not waiting:
            clock = max(clock, coming[0][0])
        while coming and coming[0][0] <= clock:
            heappush(waiting, heappop(coming)[1])
        order.append(heappop(waiting))
        clock += order[-1].size * number_s
    return order
