"""DP-FedAvg: clipped updates of equal weight, and Gaussian noise N(0, (z·C)²) on their sum.

McMahan et al. 2018, arXiv 1710.06963, Algorithm 1, with flat clipping to C over all tensors. The platform sees single
updates, and whoever sees versions learns next to nothing of any device. The unit of privacy is the device, and
neighbouring fleets differ in whether one device's update is zero, so that how many took part is no secret. Devices take
part when they can, not by coins that are tossed: no amplification by sampling is claimed.
"""

from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.merge import Cohort
from coterie_learning.noise import whole_noise
from coterie_learning.privacy import Int64, Place, Privacy, Released, Spend
from coterie_learning.privacy._clipping import clipped
from coterie_learning.privacy._coverage import uncovered
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.tensors import Tensors

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class CentralNoise(Privacy, frozen=True, tag="central_noise"):
    """Clips on the device and again at the platform, which trusts no device with it, and adds noise once a merge.

    It covers what versions tell of an update. It does not cover what devices report beside it, which operators see:
    sample counts, losses, accuracies, training times and class lists.
    """

    norm: Annotated[
        float, Meta(gt=0, le=1e3, description="C: largest L2 norm of an update that counts, over all its tensors")
    ] = 1.0
    noise_multiplier: Annotated[
        float, Meta(gt=0, le=1e3, description="z: standard deviation of the noise on the sum, in norms")
    ] = 1.0
    releases: ClassVar[Released] = "sums"
    since: ClassVar[str] = "0.2"

    def protect(self, update: Tensors, *, seed: int) -> Tensors:  # noqa: ARG002 - the platform draws
        return clipped(update, self.norm)

    def bound(self) -> float | None:
        return self.norm

    def release(self, total: Int64, *, seed: bytes, place: Place, cohort: Cohort) -> Int64:  # noqa: ARG002
        deviation = self.noise_multiplier * self.norm * place.unit
        return total + whole_noise(deviation, seed, place.name, place.start, len(total))

    def spend(self, cohort: Cohort) -> Spend | None:  # noqa: ARG002 - whatever the cohort
        return Spend(self.noise_multiplier)

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """What would see updates without noise, or count one for more than another."""
        if plan.merge.reads != "sums":
            detail = f"merge {plan.merge.name} reads {plan.merge.reads} of single updates, and noise is on their sum"
            return Reason("plan.needs_sums", f"{detail}; take a merge of sums, such as fed_avg")
        if set(plan.merge.counted([1, 2, 4])) != {1}:
            detail = f"merge {plan.merge.name} counts updates by their samples, so that noise would hide some less"
            return Reason("plan.needs_equal_weights", f"{detail}; set weight_by to uniform")
        if plan.selection.reads_history:
            detail = f"selection {plan.selection.name} chooses by what devices tell of their training, without noise"
            return Reason("plan.not_covered", f"{detail}; take selection uniform")
        return uncovered(self.name, plan, model)
