"""No protection: the update is sent unchanged."""

from typing import ClassVar

from coterie_learning.privacy import Privacy
from coterie_wire.tensors import Tensors


class NoPrivacy(Privacy, frozen=True, tag="none"):
    """The identity."""

    leaves_as_is: ClassVar[bool] = True

    def protect(self, update: Tensors, *, seed: int) -> Tensors:  # noqa: ARG002 - nothing is drawn
        return update
