"""Slot `privacy`: what hides one device's update. The device's half; one module a kind."""

from coterie_wire.codec import Tensors
from coterie_wire.kinds import Kind


class Privacy(Kind, frozen=True):
    """What is done to an update on the device before the codec sees it."""

    def protect(self, update: Tensors) -> Tensors:
        """The update that may leave the device."""
        raise NotImplementedError
