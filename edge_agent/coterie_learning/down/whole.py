"""Every version is sent in full."""

from coterie_learning.down import Down


class Whole(Down, frozen=True, tag="whole"):
    """A device downloads all parameters of each version."""
