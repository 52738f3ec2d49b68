"""Secure aggregation: the platform learns the sum of clipped updates, and no single update.

Bonawitz et al. 2017, doi 10.1145/3133956.3133982 (pairwise masks that cancel, and secret shares to remove those of
dropped devices), with the neighbourhood graph of Bell et al. 2020, doi 10.1145/3372297.3417885. A device takes part in
no sum of fewer than `min_devices`, whatever the platform requests.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from coterie_learning.privacy import Masking
from coterie_learning.privacy._masked import Masked

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class SecureAggregation(Masked, frozen=True, tag="secure_aggregation"):
    """Hides in the sum what a device trained and measured: update, samples, losses, accuracy, running statistics.

    It does not hide who takes part, nor what the sum reveals.
    """

    bits: Annotated[
        Literal[8, 12, 16, 20, 24, 28, 32],
        Meta(description="bits of a number of the sum, and so what a parameter takes on its way"),
    ] = 16
    full_samples: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="samples from which on an update counts in full, where a merge counts by them; none: all do"),
    ] = None
    since: ClassVar[str] = "0.2"

    def bound(self) -> float | None:
        return self.norm

    def _weights_advice(self, plan: "Plan") -> str:
        return f"set full_samples, from how many on an update counts in full, or {super()._weights_advice(plan)}"

    def masking(self) -> Masking:
        return Masking(self.terms, self.bits, self.norm, self.full_samples, self.step_s)
