"""What no plan can be, because data leave their devices, but every plan is compared with. One module a kind."""

from coterie_learning.kinds import Kind


class Baseline(Kind, frozen=True):
    """How a comparison is made."""
