"""Walkers: gossip in which a few devices train and meet at a time, and the next ones continue from their model.

Devices are drawn as in `coterie_learning.walkers`, after Takezawa and Stich 2025 (arXiv 2501.15259). It sends fewer
models than `gossip`, where all devices come to each meeting, and an absent device delays the others only briefly. It
loses where a single walker meets absent devices, since the newest model is then lost, and it gains no accuracy where
the data are identically distributed.
"""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from coterie_learning.kinds import Resources
from coterie_learning.meetings import MOST_MEMBERS, MeetingRules
from coterie_learning.topology import Topology
from coterie_learning.topology._meeting import Mixing, misfit_of_meetings, misfit_of_mixing
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class Walkers(Topology, frozen=True, tag="walkers"):
    """In turn, devices take a model over, train and average; each sends the result of its own last meeting."""

    meetings: Annotated[int, Meta(ge=1, le=10_000, description="meetings in a round, a training before each")] = 40
    walkers: Annotated[
        int,
        Meta(ge=1, le=MOST_MEMBERS, description="devices drawn for each meeting; 1: a single model goes round"),
    ] = 4
    wait_s: Annotated[
        float,
        Meta(ge=0.1, le=86_400, description="seconds that a device waits for those that were drawn with it, or before"),
    ] = 30.0
    turn_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=86_400,
            description="seconds that a training and its meeting may take; then the next devices begin without them",
        ),
    ] = 300.0
    mixing: Mixing = "clipped"

    since = "0.2"

    def meeting_rules(self) -> MeetingRules:
        return MeetingRules(self.meetings, 0, self.walkers, self.wait_s, self.mixing == "clipped", self.turn_s)

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """Parts of a plan that cannot be averaged by peers, and rounds in which a device would never be drawn."""
        drawn = self.meetings * self.walkers
        if plan.pace.holds_rounds() and plan.pace.updates_wanted() > drawn:
            detail = f"{self.meetings} meetings of {self.walkers} devices, and a round of {plan.pace.updates_wanted()}"
            return Reason("plan.too_few_meetings", f"{detail}: some would never train; raise meetings or walkers")
        return misfit_of_mixing(self.mixing, self.walkers) or misfit_of_meetings(plan, model)
