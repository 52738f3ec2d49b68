"""The guarantees of a secure sum, which each participant checks."""

import math
from typing import NamedTuple

from coterie_learning.secure_sum.graph import Adversary, Graph, graph_of
from coterie_wire.errors import WireError


class SumTerms(NamedTuple):
    """The least number of devices and the faults tolerated; part of the plan, so that devices know them."""

    fewest: int
    """Least number of devices whose updates are summed."""
    corrupted: float
    """The share of devices that may conspire with the platform."""
    dropped: float
    """The share of devices that may drop out."""
    adversary: Adversary

    def corrupted_of(self, members: int) -> int:
        """How many of so many devices may conspire with the platform."""
        return math.ceil(self.corrupted * members - 1e-9)

    def honest(self, members: int) -> int:
        """Least number of honest devices in the sum, where so many take part.

        Raises WireError ``secure_sum.too_few`` where it is zero.
        """
        corrupted = self.corrupted_of(members)
        if corrupted >= self.fewest:
            detail = f"{corrupted} of {members} devices may be corrupted, and {self.fewest} suffice for a sum"
            raise WireError("secure_sum.too_few", detail)
        return self.fewest - corrupted

    def graph(self, members: int) -> Graph:
        """The graph of a sum in which so many `members` take part.

        Raises WireError ``secure_sum.too_few`` where they are too few for the guarantees.
        """
        if members < self.fewest:
            detail = f"{members} devices take part, and the plan promises that at least {self.fewest} are summed"
            raise WireError("secure_sum.too_few", detail)
        graph = graph_of(members, corrupted=self.corrupted, dropped=self.dropped, adversary=self.adversary)
        if graph is None:
            detail = f"{self.corrupted:.0%} corrupted and {self.dropped:.0%} lost of {members} devices cannot be borne"
            raise WireError("secure_sum.too_few", detail)
        return graph
