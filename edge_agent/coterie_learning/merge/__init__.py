"""Slot `merge`: how updates become a version. One module a kind."""

from typing import NamedTuple

from coterie_learning.kinds import Kind
from coterie_learning.weighted_sum import WeightedSum
from coterie_wire.tensors import Tensors


class Contribution(NamedTuple):
    """One device's update, decoded."""

    update: Tensors
    """The difference of its parameters from the round's base."""
    samples: int
    """Training samples it was computed from."""
    statistics: Tensors = {}
    """The running statistics that the device gathered; they are merged apart."""


class Merge(Kind, frozen=True):
    """How what devices have learned becomes the next version."""


class Averaging(Merge, frozen=True):
    """A fold over contributions whose state has the size of one model, whatever their number.

    States of separate blocks can be combined, so that blocks may be summed anywhere. A state that was passed on is not
    used again.
    """

    def init(self, base: Tensors) -> WeightedSum:
        """The state before any contribution."""
        raise NotImplementedError

    def add(self, state: WeightedSum, contribution: Contribution) -> WeightedSum:
        """`state` with one contribution more."""
        raise NotImplementedError

    def combine(self, left: WeightedSum, right: WeightedSum) -> WeightedSum:
        """The state of both blocks together."""
        raise NotImplementedError

    def finish(self, state: WeightedSum, base: Tensors) -> Tensors:
        """The new parameters, float32; they may be not finite, which the caller checks."""
        raise NotImplementedError
