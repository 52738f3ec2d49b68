"""Slot `fallback`: who answers where a device's own model does not? One module a kind."""

from typing import NamedTuple

from coterie_learning.kinds import Kind


class Bounds(NamedTuple):
    """How much the platform answers for devices."""

    samples: int
    """Of one request."""
    per_device: int
    """Requests a minute."""
    per_minute: int
    """Requests a minute of all devices together."""


class Fallback(Kind, frozen=True):
    """What becomes of samples that a device's own model does not answer in time, or does not answer at all.

    The owner of each device decides about its samples: no kind sends any without.
    """

    def platform_bounds(self) -> Bounds | None:
        """How much the platform answers; None: nothing."""
        return None
