"""No supernodes: every device sends its update to the platform."""

from coterie_learning.topology import Topology


class Star(Topology, frozen=True, tag="star"):
    """Every device sends its update to the platform."""
