"""No fallback: samples stay on their device, answered or not."""

from coterie_learning.fallback import Fallback


class NoFallback(Fallback, frozen=True, tag="none"):
    """The device answers alone."""
