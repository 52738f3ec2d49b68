"""Versions stay as they are; the device's receipt names those that hold it."""

from coterie_learning.forgetting import Forgetting


class NoRebuild(Forgetting, frozen=True, tag="none"):
    """Versions that hold updates of the device stay, and its owner is told which."""
