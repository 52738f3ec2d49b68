"""Distributed differential privacy: each device adds a share of the noise to a secure sum.

The guarantee of DP-FedAvg (McMahan et al. 2018, arXiv 1710.06963) without trust in the platform: clipped updates of
equal weight are rounded to integers, Gaussian noise is added on each device, and the sum is computed by secure
aggregation, as in the distributed discrete Gaussian mechanism (Kairouz et al. 2021, arXiv 2102.06387, Algorithms 1 and
2). Noise here is rounded Gaussian, and its sum is equivalent to one Gaussian mechanism
(`coterie_learning.secure_sum.grid`).
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
    """Hides an update in a sum that is noisy before anybody can read it; devices send no figures.

    The honest devices among `min_devices` already add the full noise, and more devices add more: set `min_devices`
    close to the number that take part. It does not hide who takes part.
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
