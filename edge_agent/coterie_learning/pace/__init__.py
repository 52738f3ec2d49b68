"""Slot `pace`: when are devices invited, and when are updates merged? One module a kind; pure functions."""

from typing import Literal, NamedTuple

from coterie_learning.kinds import Kind
from coterie_wire.conditions import Reason


class View(NamedTuple):
    """The state of an open round, as input of its pace."""

    live: int
    """Assignments that may still deliver, including those of earlier rounds where these are carried over."""
    delivered: int
    """Number of updates received."""
    elapsed_s: float
    """Seconds since the round opened."""
    is_open: bool = True
    """Whether it still accepts updates."""


FULL_WEIGHT = 1 << 10
"""Weight of an update that is not stale; see `Pace.discount`."""
Act = Literal["invite", "merge", "close", "wait"]


class Decision(NamedTuple):
    """The next action for a round, with the reason."""

    act: Act
    """``invite``: invite so many more `devices`, as they become ready; ``merge``: accept no more updates, merge those
    received; ``close``: accept no more, merge none; ``wait``: do nothing."""
    reason: Reason
    devices: int = 0

    @property
    def ends(self) -> bool:
        """Whether the round accepts no more updates."""
        return self.act in ("merge", "close")


class Pace(Kind, frozen=True):
    """When rounds open and close, and how many devices they invite."""

    def holds_rounds(self) -> bool:
        """Whether there are rounds; where there are none, the other methods are not called."""
        return True

    def rest_s(self) -> float:
        """Least seconds from one training of a device to its next, where there are no rounds."""
        raise NotImplementedError

    def devices_needed(self) -> int:
        """Least number of eligible devices for a round to open."""
        raise NotImplementedError

    def updates_wanted(self) -> int:
        """Number of updates at which a round closes immediately."""
        raise NotImplementedError

    def staleness_allowed(self) -> int | None:
        """Largest staleness of an update in versions, in asynchronous rounds; None: rounds are synchronous.

        In asynchronous rounds, assignments are carried over when a round ends, and an update goes into the round that
        is open when it arrives. In synchronous ones, an assignment ends with its round, and all updates have its base.
        """
        return None

    def discount(self, staleness: int) -> int:
        """The weight of an update whose base is older by so many versions, where a fresh one weighs `FULL_WEIGHT`.

        0: it is left out.
        """
        return 0 if staleness else FULL_WEIGHT

    def decide(self, view: View) -> Decision:
        """The next action for a round; ``merge`` or ``close`` for one that accepts no more updates."""
        raise NotImplementedError

    def deadline_after_s(self) -> float:
        """Most seconds from a round's opening to its closing; also the limit for a device's update."""
        raise NotImplementedError

    def pause_after_s(self) -> float:
        """Least seconds from a round's end to the next one's opening."""
        raise NotImplementedError

    def absence_after_s(self) -> float:
        """Seconds without contact after which a device's assignment is dropped and another device may be invited."""
        raise NotImplementedError
