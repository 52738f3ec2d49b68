"""No protection beyond what the codec loses: the update leaves as it is."""

from coterie_wire.codec import Tensors
from coterie_wire.privacy import Privacy


class NoPrivacy(Privacy, frozen=True, tag="none"):
    """The identity."""

    def protect(self, update: Tensors) -> Tensors:
        return update
