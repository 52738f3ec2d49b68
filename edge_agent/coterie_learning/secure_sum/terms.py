"""What a secure sum promises to those who take part in it, each of whom checks it."""

import math
from typing import NamedTuple

from coterie_learning.secure_sum.graph import Adversary, Graph, graph_of
from coterie_wire.errors import WireError


class SumTerms(NamedTuple):
    """How many there are at least, and what they bear; parts of the plan, so that devices need not be told."""

    fewest: int
    """Devices whose updates are summed, at least."""
    corrupted: float
    """The share of devices that may work together with the platform."""
    dropped: float
    """The share of devices that may be lost on the way."""
    adversary: Adversary

    def corrupted_of(self, members: int) -> int:
        """Devices of so many that may work together with the platform."""
        return math.ceil(self.corrupted * members - 1e-9)

    def honest(self, members: int) -> int:
        """Devices that are summed and conspire with nobody, at least, of so many that take part.

        Raises WireError ``secure_sum.too_few`` where none need be.
        """
        corrupted = self.corrupted_of(members)
        if corrupted >= self.fewest:
            detail = f"{corrupted} of {members} devices may be corrupted, and {self.fewest} suffice for a sum"
            raise WireError("secure_sum.too_few", detail)
        return self.fewest - corrupted

    def graph(self, members: int) -> Graph:
        """Of a sum that so many `members` take part in.

        Raises WireError ``secure_sum.too_few`` where they are too few for the promise.
        """
        if members < self.fewest:
            detail = f"{members} devices take part, and the plan promises that at least {self.fewest} are summed"
            raise WireError("secure_sum.too_few", detail)
        graph = graph_of(members, corrupted=self.corrupted, dropped=self.dropped, adversary=self.adversary)
        if graph is None:
            detail = f"{self.corrupted:.0%} corrupted and {self.dropped:.0%} lost of {members} devices cannot be borne"
            raise WireError("secure_sum.too_few", detail)
        return graph
