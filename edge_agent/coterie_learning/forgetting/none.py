"""No unlearning: versions stay as they are; the device's receipt names those that contain its updates."""

from coterie_learning.forgetting import Forgetting


class NoRebuild(Forgetting, frozen=True, tag="none"):
    """Versions that contain updates of the device stay, and its owner is told which."""
