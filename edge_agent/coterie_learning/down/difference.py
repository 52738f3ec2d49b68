"""A device that has the previous version downloads an encoded difference, where that is smaller.

The platform publishes the version that the difference decodes to, and adds the encoding error to the next difference
(error feedback at the server, as in Tang et al. 2019, DoubleSqueeze, arXiv 1905.05957, Algorithm 1). So every device
trains from the same bits, whether it downloaded the difference or the whole version, and checks them by the hash.
"""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta

from coterie_learning.codec import Codec
from coterie_learning.device_plan import CODEC
from coterie_learning.down import Down
from coterie_learning.kinds import Resources
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

    AnyCodec: TypeAlias = Codec
else:  # the form that msgspec decodes by tag
    AnyCodec = reduce(or_, CODEC.kinds.values())


class Difference(Down, frozen=True, tag="difference"):
    """A version is the previous one plus a decoded difference; everything else that belongs to it is sent in full."""

    encoding: Annotated[AnyCodec, Meta(description="what encodes the difference, a kind of slot codec")] = CODEC.parse(
        {"kind": "sparse_levels", "step": 2.0, "feedback": True}
    )

    def codec(self) -> Codec | None:
        return self.encoding

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """Versions must be made from the previous ones, by rounds."""
        if plan.merge.reads == "models":
            sentence = f"merge {plan.merge.name} trains each version anew instead of adding to the one before"
            return Reason("plan.no_difference", f"{sentence}; take down whole")
        if self.encoding.exact:
            sentence = f"a difference in {self.encoding.name} is as large as the version; take another encoding"
            return Reason("plan.no_difference", f"{sentence}, or down whole")
        return None
