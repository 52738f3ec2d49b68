"""The two halves of the split network, each on rows of its party's table."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie_wire.tensors import Float32, Tensors

Int64 = NDArray[np.int64]


class Stepped(NamedTuple):
    """The result of one step of the upper half."""

    loss: float
    """Mean loss of the batch."""
    gradient: Float32
    """[samples, width]: gradient of each sample's loss by the values at the cut."""


class Half(Protocol):
    """One half; its parameters are its only state."""

    batch_size: int
    width: int
    """Values at the cut for each person."""

    def tensors(self) -> Tensors:
        """The parameters and the optimiser's state."""

    def restore(self, tensors: Tensors) -> None:
        """Continue from these tensors."""


class LowerHalf(Half, Protocol):
    """The half of the party with columns only."""

    def forward(self, rows: Int64) -> Float32:
        """The values at the cut for `rows`, [rows, width]."""

    def backward(self, rows: Int64, gradient: Float32, *, learning_rate: float, momentum: float) -> None:
        """Learn from the returned `gradient` [rows, width] of one batch."""


class UpperHalf(Half, Protocol):
    """The half of the party with the labels, which also uses its own columns."""

    def step(self, rows: Int64, values: Float32, *, learning_rate: float, momentum: float) -> Stepped:
        """Learn from one batch, with the `values` [rows, width] at the cut."""

    def predict(self, rows: Int64, values: Float32) -> Int64:
        """The predicted class of each row, [rows]."""

    def labels(self) -> Int64:
        """Labels of all rows of the table; -1 where unknown."""
