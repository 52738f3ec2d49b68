"""What pieces travel by: sums over all workers, or the servers that keep the model."""

from collections.abc import Callable, Sequence
from typing import Protocol

from torch import Tensor

from coterie.cloud.priority.layers import Layer
from coterie.cloud.priority.order import Piece

Done = Callable[[Exception | None], None]
"""Told once, by any thread: a piece has come back; or why none will."""


class Carrier(Protocol):
    """Brings a worker's gradients to where they are summed, and what came of them back."""

    def begin(self, layer: Layer, piece: Piece, done: Done) -> None:
        """Send a piece of `layer`'s numbers; what comes back takes its place before `done` is told."""
        ...

    def change(self, layer: Layer) -> None:
        """All of `layer` has come back: change its parameters."""
        ...

    def know_reached(self, layers: Sequence[Layer]) -> None:
        """After the first backward pass: gradients reach the parameters that they have reached in it."""
        ...

    def agree(self, seconds: Tensor) -> Tensor:
        """The times by which all workers who must have one order make it."""
        ...
