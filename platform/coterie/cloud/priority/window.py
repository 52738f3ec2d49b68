"""Which pieces of a step are sent when: in order, once their layers are ready, and few at a time."""

from collections import Counter
from collections.abc import Iterator, Sequence

from coterie.cloud.priority.order import Piece


class Window:
    """The schedule of one step's transfers; it performs none itself."""

    def __init__(self, order: Sequence[Piece], *, credit: int) -> None:
        """`credit`: how many pieces are in flight at most, at least 1."""
        self._order, self._credit = order, credit
        self._next, self._under_way = 0, 0
        self._ready: set[int] = set()
        self._left = Counter(piece.layer for piece in order)

    def ready(self, layer: int) -> None:
        """Its gradients are ready."""
        self._ready.add(layer)

    def begin(self) -> Iterator[Piece]:
        """The pieces to send now; one that is not ready blocks all after it, as others wait for it too."""
        while (
            self._under_way < self._credit
            and self._next < len(self._order)
            and self._order[self._next].layer in self._ready
        ):
            self._next += 1
            self._under_way += 1
            yield self._order[self._next - 1]

    def end(self, piece: Piece) -> bool:
        """It has arrived; returns whether its layer is complete."""
        self._under_way -= 1
        self._left[piece.layer] -= 1
        return self._left[piece.layer] == 0
