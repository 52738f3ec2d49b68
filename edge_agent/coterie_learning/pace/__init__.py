"""Slot `pace`: who is asked, when does a round close? One module a kind; pure functions of counts and seconds."""

from typing import Literal, NamedTuple

from coterie_learning.kinds import Kind


class Standing(NamedTuple):
    """How an open round stands."""

    live: int
    """Assignments that may still deliver."""
    delivered: int
    elapsed_s: float
    """Since the round opened."""


Verdict = Literal["merge", "abandon"]


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

    def updates_needed(self) -> int:
        """Updates without which a round is abandoned."""
        raise NotImplementedError

    def invite_count(self, *, eligible: int, live: int, delivered: int) -> int:
        """How many of the `eligible` devices that have no part in the round to invite now."""
        raise NotImplementedError

    def should_close(self, standing: Standing) -> bool:
        """Whether the round has what it waits for, or has waited long enough."""
        raise NotImplementedError

    def verdict(self, delivered: int) -> Verdict:
        """What becomes of a closed round."""
        raise NotImplementedError

    def deadline_after_s(self) -> float:
        """Seconds from a round's opening to its closing at the latest."""
        raise NotImplementedError

    def pause_after_s(self) -> float:
        """Seconds from a round's end to the next one's opening at the earliest."""
        raise NotImplementedError

    def absence_after_s(self) -> float:
        """Seconds of silence after which a device's assignment is dropped and another may be invited."""
        raise NotImplementedError
