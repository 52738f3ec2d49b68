"""Shared by secure sums of clipped updates: their guarantees, and the plans that they refuse."""

from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta

from coterie_learning.consent import Readability
from coterie_learning.kinds import Resources
from coterie_learning.privacy import Masking, Privacy
from coterie_learning.privacy._clipping import clipped
from coterie_learning.privacy._coverage import equal_weights_advice
from coterie_learning.secure_sum.graph import Adversary
from coterie_learning.secure_sum.terms import SumTerms
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.secure_sum import MOST_MEMBERS
from coterie_wire.tensors import Tensors

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

_SOME_MODEL = 1 << 20


class Masked(Privacy, frozen=True):
    """The platform learns the sum of clipped updates, and no single update."""

    min_devices: Annotated[
        int, Meta(ge=3, le=MOST_MEMBERS, description="devices whose updates are summed at least, as each checks")
    ] = 10
    norm: Annotated[
        float, Meta(gt=0, le=1e3, description="largest L2 norm of an update, over all its tensors; longer are clipped")
    ] = 1.0
    corrupted: Annotated[
        float, Meta(ge=0, le=0.45, description="share of the devices that may conspire with the platform")
    ] = 0.1
    dropped: Annotated[float, Meta(ge=0, le=0.45, description="share of the devices that may be lost on the way")] = 0.2
    adversary: Annotated[
        Adversary,
        Meta(
            description="whether the platform follows the protocol and is curious, or may tell devices different things"
        ),
    ] = "curious"
    step_s: Annotated[
        float, Meta(ge=1, le=86_400, description="seconds that a step of the sum waits for devices at most")
    ] = 60.0
    is_summed_by_others: ClassVar[bool] = False
    readability: ClassVar[Readability] = "summed"

    def protect(self, update: Tensors, *, seed: int) -> Tensors:  # noqa: ARG002 - the masks come later
        return clipped(update, self.norm)

    @property
    def terms(self) -> SumTerms:
        """The guarantees of a sum."""
        return SumTerms(self.min_devices, self.corrupted, self.dropped, self.adversary)

    def masking(self) -> Masking:
        raise NotImplementedError

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """Kinds that use single devices' updates, or more or fewer devices than a sum has."""
        return self._not_of_sums(plan) or self._not_covered(plan) or self._not_of_so_many(plan)

    def _weights_advice(self, plan: "Plan") -> str:
        """How to have the merge weigh updates as the sum does."""
        return equal_weights_advice(plan.merge)

    def _not_of_sums(self, plan: "Plan") -> Reason | None:
        if plan.merge.reads != "sums":
            detail = f"merge {plan.merge.name} reads {plan.merge.reads} of single updates, and only their sum is known"
            return Reason("plan.needs_sums", f"{detail}; take a merge of sums, such as fed_avg")
        counts = list(plan.merge.counted([1, 2, 4]))
        if counts != ([1, 1, 1] if self.masking().full_samples is None else [1, 2, 4]):
            detail = f"merge {plan.merge.name} counts updates otherwise than their devices do"
            return Reason("plan.needs_equal_weights", f"{detail}; {self._weights_advice(plan)}")
        if not plan.codec.exact:
            detail = f"codec {plan.codec.name} rounds each update by itself, and sums have one grid, of so many bits"
            return Reason("plan.needs_float32", f"{detail}; take codec float32 and choose bits here")
        if not plan.pace.holds_rounds() or plan.pace.staleness_allowed() is not None:
            detail = f"pace {plan.pace.name} has no cohort that could sum its updates"
            return Reason("plan.needs_rounds_together", f"{detail}; take pace sync")
        return None

    def _not_covered(self, plan: "Plan") -> Reason | None:
        if plan.help.rules() is not None:
            detail = f"help {plan.help.name} sends profiles and portions of single devices"
            return Reason("plan.not_covered", f"{detail}; take help none")
        if plan.groups.divides:
            detail = f"groups {plan.groups.name} compares the models of single devices"
            return Reason("plan.not_covered", f"{detail}; take groups one")
        if plan.selection.reads_history:
            detail = f"selection {plan.selection.name} chooses by what single devices tell of their training"
            return Reason("plan.not_covered", f"{detail}; take selection uniform")
        if plan.rollout.is_staged():
            detail = f"rollout {plan.rollout.name} has single devices tell how versions do on their samples"
            advice = "take rollout at_once; the sum of each round says how the version before did"
            return Reason("plan.not_covered", f"{detail}; {advice}")
        if plan.local.scope().head == "seen":
            detail = f"local {plan.local.name} sends rows of the classes that a device has seen, which names them"
            return Reason("plan.not_covered", f"{detail}; train the whole output layer")
        if plan.local.scope().share < 1:
            detail = f"local {plan.local.name} sends another part of the model from each device, which do not add up"
            return Reason("plan.sent_in_part", f"{detail}; take local sgd")
        return None

    def _not_of_so_many(self, plan: "Plan") -> Reason | None:
        most = plan.pace.updates_wanted()
        if most > MOST_MEMBERS:
            return Reason("plan.too_many_devices", f"a secure sum is of {MOST_MEMBERS} devices at most, not {most}")
        if plan.pace.devices_needed() < self.min_devices:
            detail = f"pace {plan.pace.name} is content with {plan.pace.devices_needed()} updates"
            advice = f"with min_devices {self.min_devices} set its min_updates to as many at least"
            return Reason("plan.too_few_devices", f"{detail}; {advice}")
        masking = self.masking()
        try:
            for members in (self.min_devices, most):
                masking.terms.graph(members)
                _ = masking.grid(_SOME_MODEL, members, seed=0).step
        except WireError as error:
            return Reason("plan.too_few_devices", f"{error.detail}; take more min_devices, or bits, or bear less")
        return None
