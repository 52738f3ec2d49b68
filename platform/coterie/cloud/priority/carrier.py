"""The transport of pieces: sums over all workers, or the servers that store the model."""

from collections.abc import Callable, Sequence
from typing import Protocol

from torch import Tensor

from coterie.cloud.priority.layers import Layer
from coterie.cloud.priority.order import Piece

Done = Callable[[Exception | None], None]
"""Called once, by any thread: a piece has come back; or the error why none will."""


class Carrier(Protocol):
    """Sends a worker's gradients to where they are summed, and receives the result."""

    def begin(self, layer: Layer, piece: Piece, done: Done) -> None:
        """Send a piece of `layer`'s numbers; the result replaces it before `done` is called."""
        ...

    def change(self, layer: Layer) -> None:
        """All of `layer` has come back: change its parameters."""
        ...

    def know_reached(self, layers: Sequence[Layer]) -> None:
        """After the first backward pass: record which parameters gradients reach."""
        ...

    def agree(self, seconds: Tensor) -> Tensor:
        """The times on which all workers agree that need one common order."""
        ...
