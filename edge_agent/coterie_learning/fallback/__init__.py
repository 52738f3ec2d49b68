"""Slot `fallback`: who answers where a device's own model cannot? One module a kind."""

from typing import NamedTuple

from coterie_learning.kinds import Kind


class Bounds(NamedTuple):
    """Limits on the predictions that the platform makes for devices."""

    samples: int
    """Samples in one request."""
    per_device: int
    """Requests of one device a minute."""
    per_minute: int
    """Requests of all devices together a minute."""


class Fallback(Kind, frozen=True):
    """How samples are handled that a device's own model cannot predict, or not in time.

    The owner of each device decides about its samples: no kind sends any without consent.
    """

    def platform_bounds(self) -> Bounds | None:
        """The limits under which the platform answers; None: it does not."""
        return None
