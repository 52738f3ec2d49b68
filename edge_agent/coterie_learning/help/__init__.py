"""Slot `help`: who helps a device whose model fails? The device's half; one module a kind."""

from coterie_learning.kinds import Kind


class Help(Kind, frozen=True):
    """How devices ask each other for help."""
