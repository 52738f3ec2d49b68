"""Baselines for plans, which no plan can be, because data leave the devices. One module a kind."""

from coterie_learning.kinds import Kind


class Baseline(Kind, frozen=True):
    """How a comparison is made."""
