"""Slot `down`: how a version travels to devices. One module a kind."""

from coterie_learning.codec import Codec
from coterie_learning.kinds import Kind


class Down(Kind, frozen=True):
    """What a device downloads of a version when it has the previous one."""

    def codec(self) -> Codec | None:
        """The codec of the difference from the previous version; None: versions are sent in full."""
        return None
