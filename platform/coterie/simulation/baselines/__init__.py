"""Baselines for plans. They are not plans, because data leave the devices. One module a kind."""

from coterie_learning.kinds import Kind


class Baseline(Kind, frozen=True):
    """Hyperparameters of a baseline."""
