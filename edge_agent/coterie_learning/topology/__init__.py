"""Slot `topology`: by what way do updates meet? One module a kind; pure functions of counts and sizes."""

from collections.abc import Sequence

from coterie_learning.kinds import Kind
from coterie_learning.meetings import MeetingRules


class Topology(Kind, frozen=True):
    """Whom devices send their updates to, and which partial aggregates are formed on the way.

    Where devices send their updates, a version has the same bits whatever the way. Where they meet, it has not.
    """

    def fan_in(self) -> int | None:
        """How many devices send their updates to one supernode at most; None: every device sends to the platform."""
        return None

    def site_tag(self) -> str:
        """How the tag begins that the devices of one site share."""
        raise NotImplementedError

    def patience_s(self) -> float:
        """Seconds that a supernode has to sum and send; then its devices send their updates to the platform."""
        raise NotImplementedError

    def tiers(self) -> Sequence[str]:
        """How the tags begin of sites whose supernodes' sums meet at one of them, from the inside out."""
        return ()

    def meeting_rules(self) -> MeetingRules | None:
        """How devices average their models among themselves before they send updates; None: they do not."""
        return None
