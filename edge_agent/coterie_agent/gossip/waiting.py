"""Waits for the device's turn where few devices meet each time, and fetches the model of one that met before it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Literal

from coterie_agent.gossip.calling import PeerCalls, Replied
from coterie_agent.link.failure import Unreachable
from coterie_learning.meetings import MeetingRules
from coterie_learning.walkers import Turn, walkers_of
from coterie_wire.meeting import Roster
from coterie_wire.relaying import Peer

_POLL_S = (0.25, 10.0)
"""Seconds between two polls of the others' progress: for each meeting before the own one, and at most."""


@dataclass(kw_only=True)
class Waiting:
    """The waiting of a device under one roster."""

    own: str
    roster: Roster
    digest: str
    """SHA-256 of the roster."""
    rules: MeetingRules
    calls: PeerCalls
    stop: Callable[[], bool]
    wait: Callable[[float], None]
    """Waits for so many seconds at most."""
    clock: Callable[[], float]

    def next_meeting(self, number: int) -> int | None:
        """The first meeting from `number` on for which the device is drawn; None: there is none."""
        own = (meeting for meeting in range(number, self.rules.in_all) if self.own in self._drawn(meeting))
        return next(own, None)

    def turn(self, meeting: int, number: int) -> int | None:
        """The next meeting, once those from `number` to before `meeting` are over; None: it was stopped.

        It is later than `meeting` where the others are past that.
        """
        assert self.rules.turn_s is not None, "few devices meet each time"
        wait_s, turn_s = self.rules.wait_s, self.rules.turn_s
        turn = Turn(meeting, self._drawn, at=number, wait_s=wait_s, turn_s=turn_s, now_s=self.clock())
        least_s, longest_s = _POLL_S
        for poll in count():
            if turn.has_come(self.clock()):
                break
            if self.stop():
                return None
            asked, at = turn.members_to_ask[poll % len(turn.members_to_ask)], turn.at
            replied = self._ask(asked, "who is there", at)
            if replied is not None:
                turn.record_position(asked, replied.answer.meeting, self.clock())
            if turn.at == at:
                self.wait(min(least_s * (turn.until - at), longest_s))
        return turn.at

    def models(self, number: int, until: int) -> Iterator[bytes]:
        """Models of devices that were at meetings from `number` to before `until`, the latest meeting first."""
        asked = {self.own}
        for meeting in range(until - 1, number - 1, -1):
            for device in self._drawn(meeting):
                if device in asked or self.stop():
                    continue
                asked.add(device)
                replied = self._ask(device, "your model", meeting)
                if replied is not None and replied.content and replied.answer.meeting > number:
                    yield replied.content

    def _drawn(self, meeting: int) -> Sequence[str]:
        return walkers_of(list(self._peers), meeting, walkers=self.rules.group, seed=self.roster.seed)

    @cached_property
    def _peers(self) -> Mapping[str, Peer]:
        return {peer.device: peer for peer in self.roster.peers}

    def _ask(self, device: str, asks: Literal["who is there", "your model"], meeting: int) -> Replied | None:
        """Ask a device; None where it does not answer now."""
        with suppress(Unreachable):
            return self.calls.call(self._peers[device], asks, roster=self.digest, meeting=meeting)
        return None
