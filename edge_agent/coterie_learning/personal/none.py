"""No personal model: every device predicts with the federation's version."""

from coterie_learning.personal import Personal


class NoPersonal(Personal, frozen=True, tag="none"):
    """Devices predict with the version, unless local training, rounds or help give them a personal model."""
