"""What robust merges share: how many of a round's updates a share of them is, and how many they can compare.

They count each device once, whatever samples it claims: else one of them could buy the votes of many.
"""

import math
from typing import TYPE_CHECKING, ClassVar

from coterie_learning.kinds import Resources
from coterie_learning.merge import Merge, Reads
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

MOST_COMPARED = 2000
"""Updates of a round whose distances are taken: with n of them, n² numbers are held and n² products added."""


def at_most(share: float, updates: int) -> int:
    """The largest whole number of `updates` that is no more than `share` of them."""
    return math.floor(round(share * updates, 6))  # 0.29 · 100 is 28.999999999999996, and means 29


class Comparing(Merge, frozen=True):
    """Reads how far updates are from one another."""

    reads: ClassVar[Reads] = "distances"
    since: ClassVar[str] = "0.2"

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        if not plan.pace.holds_rounds():
            return None
        most = plan.pace.updates_wanted()
        if most > MOST_COMPARED:
            sentence = f"it compares each update with every other, {MOST_COMPARED} at most, and the pace wants {most}"
            return Reason("plan.too_many_updates", sentence)
        found = (self.too_few(updates) for updates in range(plan.pace.devices_needed(), most + 1))
        return next((reason for reason in found if reason is not None), None)
