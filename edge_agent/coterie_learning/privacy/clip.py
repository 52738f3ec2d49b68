"""Clipping of the update's L2 norm, which bounds one device's influence (McMahan et al. 2018, arXiv 1710.06963)."""

from typing import Annotated

from msgspec import Meta

from coterie_learning.privacy import Privacy
from coterie_learning.privacy._clipping import clipped
from coterie_wire.tensors import Tensors


class Clip(Privacy, frozen=True, tag="clip"):
    """Scales the whole update down to `norm` when its L2 norm is larger."""

    norm: Annotated[float, Meta(gt=0, le=1e9, description="largest L2 norm of an update, over all its tensors")] = 10.0

    def protect(self, update: Tensors, *, seed: int) -> Tensors:  # noqa: ARG002 - nothing is drawn
        return clipped(update, self.norm)
