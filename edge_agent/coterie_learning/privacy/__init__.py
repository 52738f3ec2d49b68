"""Slot `privacy`: what hides one device's update. The device's half; one module a kind."""

from coterie_learning.kinds import Kind
from coterie_wire.tensors import Tensors


class Privacy(Kind, frozen=True):
    """What is done to an update on the device before the codec sees it.

    It sees every part of the update at once. Running statistics are not covered: they leave as they are.
    """

    def protect(self, update: Tensors, *, seed: int) -> Tensors:
        """The update that may leave the device; the same update and seed give the same."""
        raise NotImplementedError

    def leaves_as_is(self) -> bool:
        """Whether it changes nothing, so that what is no tensors may leave too."""
        return False
