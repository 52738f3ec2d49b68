"""TiFL: devices of similar speed are selected together, so that none waits for a slow one (Chai et al. 2020, arXiv
2001.09249, §4). The paper's credits, which bound how often a tier is drawn, are left out: `fair_rounds` bounds how long
a device waits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.random import derive_seed, device_lot
from coterie_learning.selection import DeviceFacts, choose
from coterie_learning.selection._fair import Fair
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class Tiers(Fair, frozen=True, tag="tiers"):
    """Draws one tier a round, all equally likely; devices without a measured time form a tier of their own."""

    tiers: Annotated[int, Meta(ge=1, le=100, description="tiers of equally many devices, by their training times")] = 5

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        if plan.pace.staleness_allowed() is None:
            return None
        return Reason(
            "plan.needs_rounds_together",
            "no device waits for another in asynchronous rounds; take selection uniform, or pace sync",
        )

    def prefer(self, devices: Sequence[DeviceFacts], *, count: int, round_number: int, seed: int) -> Sequence[str]:  # noqa: ARG002
        divided = self._divided(devices, seed)
        if not divided:
            return ()
        begin = derive_seed(seed, "tier") % len(divided)
        chosen: list[str] = []
        # A tier with too few devices is filled from the others, the next faster one first.
        for tier in (*reversed(divided[: begin + 1]), *divided[begin + 1 :]):
            chosen += choose(tier, count=count - len(chosen), seed=seed)
        return chosen

    def _divided(self, devices: Sequence[DeviceFacts], seed: int) -> list[list[str]]:
        """The tiers that have devices: first those without a measured time, then by falling speed."""
        unknown = [known.device for known in devices if known.train_s is None]
        times = {known.device: known.train_s for known in devices if known.train_s is not None}
        ranked = sorted(times, key=lambda device: (times[device], device_lot(seed, device)))
        size = len(ranked) / self.tiers
        measured = [ranked[round(tier * size) : round((tier + 1) * size)] for tier in range(self.tiers)]
        return [tier for tier in (unknown, *measured) if tier]
