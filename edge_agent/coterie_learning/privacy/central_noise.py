"""DP-FedAvg: clipped updates of equal weight, and Gaussian noise N(0, (z·C)²) on their sum.

McMahan et al. 2018, arXiv 1710.06963, Algorithm 1, with flat clipping to C over all tensors. The platform sees single
updates; versions are differentially private. The unit of privacy is the device, and neighbouring fleets differ in
whether one device's update is zero, so that the number of participants is not protected. Devices take part when they
can, not by random sampling: no privacy amplification by sampling is claimed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.merge import Cohort
from coterie_learning.noise import whole_noise
from coterie_learning.privacy import Int64, Privacy, Released, ReleasedElements, Spend
from coterie_learning.privacy._clipping import clipped
from coterie_learning.privacy._coverage import uncovered, unsummed
from coterie_learning.privacy._quantiles import next_norm, sum_multiplier
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.tensors import Tensors

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class CentralNoise(Privacy, frozen=True, tag="central_noise"):
    """Clips on the device, again at the platform, which does not trust devices to clip, and adds noise in each merge.

    It covers what versions reveal of an update. It does not cover what devices report beside it, which operators see:
    sample counts, losses, accuracies, training times and class lists.

    With a `quantile`, the norm is that of the first round: each merge counts, under noise, how many updates were
    shorter, and sets the next round's norm (Andrew et al. 2021, arXiv 1905.03871). Sum and count together cost as much
    as `noise_multiplier` states, so that the sum has slightly more noise.
    """

    norm: Annotated[
        float, Meta(gt=0, le=1e3, description="C: largest L2 norm of an update that counts, over all its tensors")
    ] = 1.0
    noise_multiplier: Annotated[
        float, Meta(gt=0, le=1e3, description="z: standard deviation of the noise on the sum, in norms")
    ] = 1.0
    quantile: Annotated[
        Annotated[float, Meta(gt=0, lt=1)] | None,
        Meta(description="share of updates that are to stay as they are: the norm follows it; none: the norm stays"),
    ] = None
    releases: ClassVar[Released] = "sums"
    since: ClassVar[str] = "0.2"

    def protect(self, update: Tensors, *, seed: int) -> Tensors:  # noqa: ARG002 - the platform draws
        return clipped(update, self.norm)

    def bound(self) -> float | None:
        return self.norm

    def bounded_by(self, norm: float) -> Privacy:
        return self if self.quantile is None else msgspec.structs.replace(self, norm=norm)

    def next_bound(self, norms: Sequence[float], *, seed: bytes) -> float | None:
        if self.quantile is None:
            return None
        return next_norm(self.norm, self.quantile, self.noise_multiplier, norms, seed)

    def release(
        self,
        total: Int64,
        *,
        seed: bytes,
        place: ReleasedElements,
        cohort: Cohort,
        earlier: Sequence[bytes] = (),  # noqa: ARG002
    ) -> Int64:
        multiplier = self.noise_multiplier
        if self.quantile is not None:
            multiplier = sum_multiplier(multiplier, cohort.updates)
        deviation = multiplier * self.norm * place.unit
        return total + whole_noise(deviation, seed, place.name, place.start, len(total))

    def spend(self, cohort: Cohort) -> Spend | None:  # noqa: ARG002 - whatever the cohort
        return Spend(self.noise_multiplier)

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        if self.quantile is not None and plan.pace.staleness_allowed() is not None:
            detail = f"under pace {plan.pace.name} updates of earlier rounds count, which were clipped to other norms"
            return Reason("plan.needs_cohorts", f"{detail}; take pace sync, or quantile null")
        return uncovered(self.name, plan, model) or unsummed(plan)
