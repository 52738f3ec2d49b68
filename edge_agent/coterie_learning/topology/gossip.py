"""Gossip: the devices of a round average their models among themselves in small groups, and send them at its end.

Groups and averages are `coterie_learning.meetings`: Moshpit SGD (Ryabinin et al. 2021, arXiv 2103.03239), which with
groups of two is D-PSGD (Lian et al. 2017, arXiv 1705.09056). Meetings do not need the platform. It loses to a star
where few devices come to a meeting, and gains no accuracy where the data are identically distributed.
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


class Gossip(Topology, frozen=True, tag="gossip"):
    """Devices alternate training and averaging; after the last meeting each sends its result to the platform."""

    meetings: Annotated[int, Meta(ge=1, le=10_000, description="meetings in a round, a training before each")] = 10
    group: Annotated[
        int, Meta(ge=2, le=MOST_MEMBERS, description="devices that meet at once, at most; 2: pairs, as in D-PSGD")
    ] = 4
    settling: Annotated[
        int, Meta(ge=0, le=100, description="meetings at the end without a training, so that the devices agree")
    ] = 4
    wait_s: Annotated[
        float, Meta(ge=0.1, le=86_400, description="seconds that a device waits for the others of its group")
    ] = 30.0
    mixing: Mixing = "clipped"

    since = "0.2"

    def meeting_rules(self) -> MeetingRules:
        return MeetingRules(self.meetings, self.settling, self.group, self.wait_s, self.mixing == "clipped")

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        """Parts of a plan that check updates before mixing, cannot be averaged, or that other devices may not read."""
        return misfit_of_mixing(self.mixing, self.group) or misfit_of_meetings(plan, model)
