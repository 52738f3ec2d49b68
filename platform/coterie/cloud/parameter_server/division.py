"""Which server stores which piece of a model."""

from collections.abc import Sequence
from typing import NamedTuple

from coterie.cloud.priority.order import Piece, cut

STATISTICS_SERVER = 0
"""It also stores numbers without gradients, and sums the losses."""


class Division(NamedTuple):
    """Every process computes the same division, from the model's sizes."""

    sizes: tuple[tuple[int, ...], ...]
    """Numbers of each parameter, by layers in the order of need."""
    pieces: tuple[Piece, ...]
    server_of: tuple[int, ...]
    """Of each piece."""

    @property
    def servers(self) -> int:
        """How many servers store something."""
        return max(self.server_of, default=STATISTICS_SERVER) + 1

    @property
    def statistics(self) -> int:
        """Used in place of a piece's number for numbers without gradients."""
        return len(self.pieces)

    def pieces_of(self, server: int) -> list[int]:
        """The numbers of the pieces that it stores."""
        return [number for number, of in enumerate(self.server_of) if of == server]

    def parts_of(self, number: int) -> dict[int, int]:
        """How many numbers a piece has of each parameter of its layer, by its place: all, or a part of a single
        parameter.
        """
        piece = self.pieces[number]
        sizes = self.sizes[piece.layer]
        return {0: piece.size} if len(sizes) == 1 else dict(enumerate(sizes))


def divide(sizes: Sequence[Sequence[int]], *, most: int, servers: int) -> Division:
    """Cut layers into pieces of at most `most` numbers, and assign each to the one of `servers` with the fewest
    numbers.

    A layer of several parameters fits into a piece. Where there are fewer pieces than servers, the last ones store
    nothing.
    """
    pieces = cut([sum(layer) for layer in sizes], most)
    loads, server_of = [0] * servers, []
    for piece in pieces:
        server = loads.index(min(loads))
        loads[server] += piece.size
        server_of.append(server)
    return Division(tuple(tuple(layer) for layer in sizes), tuple(pieces), tuple(server_of))
