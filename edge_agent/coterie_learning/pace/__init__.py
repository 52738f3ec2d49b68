"""Slot `pace`: who is asked, when are updates merged? One module a kind; pure functions of counts and seconds."""

from typing import Literal, NamedTuple

from coterie_learning.kinds import Kind
from coterie_wire.conditions import Reason


class View(NamedTuple):
    """A round that has opened, as its pace sees it."""

    live: int
    """Assignments that may still deliver, those of earlier rounds too where they are carried on."""
    delivered: int
    """Updates that are in."""
    elapsed_s: float
    """Since the round opened."""
    is_open: bool = True
    """Whether it takes updates still."""


FULL_WEIGHT = 1 << 10
"""Weight of an update that is not stale; see `Pace.discount`."""
Act = Literal["invite", "merge", "close", "wait"]


class Decision(NamedTuple):
    """What becomes of a round now, and why."""

    act: Act
    """``invite``: ask so many `devices` more, as they become ready; ``merge``: take no more updates, and merge those
    that are in; ``close``: take no more, and merge nothing; ``wait``: leave it as it is."""
    reason: Reason
    devices: int = 0

    @property
    def ends(self) -> bool:
        """Whether the round takes no more updates."""
        return self.act in ("merge", "close")


class Pace(Kind, frozen=True):
    """When rounds open and close, and how many devices they ask."""

    def holds_rounds(self) -> bool:
        """Whether there are rounds at all; where there are none, nothing else is asked of the kind."""
        return True

    def rest_s(self) -> float:
        """Seconds from one training of a device to its next at least, where there are no rounds."""
        raise NotImplementedError

    def devices_needed(self) -> int:
        """Eligible devices without which a round does not open."""
        raise NotImplementedError

    def updates_wanted(self) -> int:
        """Updates with which a round closes at once."""
        raise NotImplementedError

    def staleness_allowed(self) -> int | None:
        """Versions by which the base of an update may be older than that of its merge, in asynchronous rounds.

        There, assignments are carried on when a round ends, and the update goes into whichever round is open when it
        comes. None: rounds are synchronous. An assignment ends with its round, and all updates have the round's base.
        """
        return None

    def discount(self, staleness: int) -> int:
        """What an update weighs whose base is older by so many versions, where a fresh one weighs `FULL_WEIGHT`.

        0: it is left out.
        """
        return 0 if staleness else FULL_WEIGHT

    def decide(self, view: View) -> Decision:
        """What becomes of a round now; of one that takes no more updates either ``merge`` or ``close``."""
        raise NotImplementedError

    def deadline_after_s(self) -> float:
        """Seconds from a round's opening to its closing at the latest; also a device has no longer for an update."""
        raise NotImplementedError

    def pause_after_s(self) -> float:
        """Seconds from a round's end to the next one's opening at the earliest."""
        raise NotImplementedError

    def absence_after_s(self) -> float:
        """Seconds of silence after which a device's assignment is dropped and another may be invited."""
        raise NotImplementedError
