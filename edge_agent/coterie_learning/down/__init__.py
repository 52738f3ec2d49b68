"""Slot `down`: how a version travels to devices. One module a kind."""

from coterie_learning.codec import Codec
from coterie_learning.kinds import Kind


class Down(Kind, frozen=True):
    """What a device downloads of a version when it holds the one before."""

    def codec(self) -> Codec | None:
        """What encodes the difference from the version before; None: there is none, the version travels whole."""
        return None
