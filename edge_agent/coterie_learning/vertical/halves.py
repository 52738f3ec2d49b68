"""What either party computes with: its half of the network, on rows of its own table."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie_wire.tensors import Float32, Tensors

Int64 = NDArray[np.int64]


class Stepped(NamedTuple):
    """What one step of the upper half gives."""

    loss: float
    """Mean of the batch."""
    gradient: Float32
    """[samples, width]: of each sample's own loss by what came over the cut."""


class Half(Protocol):
    """Parameters, which are all that it remembers."""

    batch_size: int
    width: int
    """Numbers that pass the cut for each person."""

    def tensors(self) -> Tensors:
        """The parameters and what the optimiser remembers."""

    def restore(self, tensors: Tensors) -> None:
        """Go on from these."""


class LowerHalf(Half, Protocol):
    """At the party with columns alone."""

    def forward(self, rows: Int64) -> Float32:
        """What goes over the cut for `rows`, [rows, width]."""

    def backward(self, rows: Int64, gradient: Float32, *, learning_rate: float, momentum: float) -> None:
        """Learn from the `gradient` [rows, width] that came back, of one batch."""


class UpperHalf(Half, Protocol):
    """At the party with the labels, whose own columns it takes, too."""

    def step(self, rows: Int64, values: Float32, *, learning_rate: float, momentum: float) -> Stepped:
        """Learn from one batch, with the `values` [rows, width] that came over the cut."""

    def predict(self, rows: Int64, values: Float32) -> Int64:
        """The class of each row, [rows]."""

    def labels(self) -> Int64:
        """Of all rows of the table; -1 where the label is not known."""
