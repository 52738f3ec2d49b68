"""Slot `topology`: along which paths are updates aggregated? One module a kind; pure functions of counts and sizes."""

from collections.abc import Sequence

from coterie_learning.kinds import Kind
from coterie_learning.meetings import MeetingRules


class Topology(Kind, frozen=True):
    """Where devices send their updates, and which partial aggregates are computed on the way.

    Aggregation trees do not change a bit of a version. Averaging among devices does.
    """

    def fan_in(self) -> int | None:
        """Most devices that send their updates to one supernode; None: every device sends to the platform."""
        return None

    def site_tag(self) -> str:
        """The prefix of the tag that the devices of one site share."""
        raise NotImplementedError

    def patience_s(self) -> float:
        """Seconds that a supernode has to sum and send; afterwards its devices send their updates to the platform."""
        raise NotImplementedError

    def tiers(self) -> Sequence[str]:
        """Tag prefixes of groups of sites whose supernodes' sums are combined at one of them, from the inside out."""
        return ()

    def meeting_rules(self) -> MeetingRules | None:
        """How devices average their models among themselves before they send updates; None: they do not."""
        return None
