"""Every version travels whole."""

from coterie_learning.down import Down


class Whole(Down, frozen=True, tag="whole"):
    """A device downloads all parameters of each version."""
