"""Shared by robust merges: a share of a round's updates as a count, and the largest number they can compare.

They weigh all devices equally, whatever samples they claim: otherwise one device could claim the weight of many.
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
"""Largest number of updates whose distances are computed: n updates take n² numbers and n² products."""


def at_most(share: float, updates: int) -> int:
    """The largest integer that is at most `share` of `updates`."""
    return math.floor(round(share * updates, 6))  # 0.29 · 100 is 28.999999999999996, and means 29


class Comparing(Merge, frozen=True):
    """Reads the pairwise distances of updates."""

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
