"""Distributed noise: devices add it to a secure sum, each its share, so that nobody sees a sum without it.

The guarantee of DP-FedAvg (McMahan et al. 2018, arXiv 1710.06963) without trust in the platform: clipped updates of
equal weight are rounded to whole numbers, normal noise is added on each device, and the sum is formed under masks, as
in the distributed discrete Gaussian mechanism (Kairouz et al. 2021, arXiv 2102.06387, Algorithms 1 and 2). Noise here
is normal and rounded, and its sum is worth exactly what one Gaussian mechanism is (`coterie_learning.secure_sum.grid`).
"""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.merge import Cohort
from coterie_learning.privacy import Masking, Released, Spend
from coterie_learning.privacy._coverage import uncovered
from coterie_learning.privacy._masked import Masked
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class DistributedNoise(Masked, frozen=True, tag="distributed_noise"):
    """Hides an update in a sum that has noise before anybody can read it; what devices measure is not sent at all.

    The noise is there in full if the fewest devices are summed of which the plan allows the sum, without those that may
    conspire. More devices have more: set `min_devices` near to how many take part. It does not hide who takes part.
    """

    noise_multiplier: Annotated[
        float, Meta(gt=0, le=1e3, description="z: standard deviation of the noise on the sum at least, in norms")
    ] = 1.0
    bits: Annotated[
        Literal[12, 16, 20],
        Meta(description="bits of a number of the sum, and so what a parameter takes on its way"),
    ] = 16
    releases: ClassVar[Released] = "masked_sums"
    since: ClassVar[str] = "0.2"

    def masking(self) -> Masking:
        return Masking(self.terms, self.bits, self.norm, None, self.step_s, self.noise_multiplier)

    def spend(self, cohort: Cohort) -> Spend | None:  # noqa: ARG002 - whatever the cohort
        return Spend(self.noise_multiplier)

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:
        return super().misfit(plan, model, resources) or uncovered(self.name, plan, model)
