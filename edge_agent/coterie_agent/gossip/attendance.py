"""One gossip meeting: find the members, exchange shares, collect averages; late members are left out."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from coterie_agent.gossip.calling import PeerCalls, Replied
from coterie_agent.gossip.handler import GossipHandler
from coterie_agent.link.failure import Unreachable
from coterie_learning.meetings import Meeting
from coterie_wire.errors import WireError
from coterie_wire.relaying import Peer

log = logging.getLogger(__name__)
_GRACE_S = 3.0
"""Seconds that a device waits beyond its own limit for the leader's list, as the leader may have started later."""
_PAUSE_S = (0.05, 1.0)
"""Seconds between two calls of the same peer: the first pause, and the longest."""


class MeetingOutcome(NamedTuple):
    """The outcome of a meeting."""

    met: int
    """Number of devices whose shares are in the own average, the device itself included."""
    ahead: int
    """The latest meeting that a peer of the group is at."""


@dataclass(kw_only=True)
class MeetingAttendance:
    """A device at one meeting. Methods that wait return early once `stop` is true."""

    number: int
    meeting: Meeting
    handler: GossipHandler
    calls: PeerCalls
    peers: Mapping[str, Peer]
    wait_s: float
    stop: Callable[[], bool]
    wait: Callable[[float], None]
    """Waits for so many seconds at most."""
    clock: Callable[[], float] = time.monotonic
    _ahead: dict[str, int] = field(default_factory=dict)
    _greeting: dict[str, threading.Thread] = field(default_factory=dict)
    """By member, the thread that greets it."""

    def run(self) -> MeetingOutcome | None:
        """Take part in the meeting; None, and nothing has changed, if it was stopped before the list was fixed."""
        self.handler.open(self.number, self.meeting)
        self._gather_members()
        if not self.meeting.members:
            if self.stop():
                return None
            with self.handler.lock:  # alone: nobody led
                self.meeting.adopt((self.meeting.own,))
        self._send_shares()
        with self.handler.lock:
            self.meeting.average(anyway=True)
            met = len(self.meeting.members) - len(self.meeting.missing_shares)
        self._collect_averages()
        return MeetingOutcome(met, max(self._ahead.values(), default=self.number))

    def _gather_members(self) -> None:
        """Greet the group until all members are present, or time is up, and the list is fixed."""
        until = self.clock() + self.wait_s
        for _ in self._rounds(until + _GRACE_S):
            is_late = self.clock() >= until
            if not is_late:
                self._greet_missing()
            with self.handler.lock:
                if self.meeting.leader == self.meeting.own and (is_late or not self._missing()):
                    self.meeting.fix_members()
                leader = self.meeting.leader
            if not self.meeting.members and leader != self.meeting.own:
                self._follow(leader)
            if self.meeting.members:
                return

    def _missing(self) -> Sequence[str]:
        """Absent members that may still come."""
        return [member for member in self.meeting.absent if self._ahead.get(member, 0) <= self.number]

    def _greet_missing(self) -> None:
        """Greet each missing member in its own thread, so that a slow connection to one does not delay the others."""
        for member in self._missing():
            thread = self._greeting.get(member)
            if thread is None or not thread.is_alive():
                self._greeting[member] = threading.Thread(
                    target=self._greet, args=[member], name="greeting", daemon=True
                )
                self._greeting[member].start()

    def _greet(self, member: str) -> None:
        replied = self._ask(member, "who is there")
        if replied is not None and replied.answer.is_there:
            with self.handler.lock:
                self.meeting.mark_present(member)

    def _follow(self, leader: str) -> None:
        replied = self._ask(leader, "who is there")
        if replied is None or not replied.answer.members:
            return
        with self.handler.lock:
            if not self.meeting.adopt(replied.answer.members):
                self.meeting.adopt((self.meeting.own,))  # the others did not see this device in time

    def _send_shares(self) -> None:
        """Send each member its share, and wait until all shares of the own part have arrived, or time is up."""
        with self.handler.lock:
            to_send = {member: self.meeting.share_for(member) for member in self.meeting.others}
        for _ in self._rounds(self.clock() + self.wait_s):
            for member in list(to_send):
                replied = self._ask(
                    member, "take my share", members=self.meeting.members, content=to_send[member], with_weight=True
                )
                if replied is not None and (replied.answer.taken or replied.answer.meeting > self.number):
                    del to_send[member]
            with self.handler.lock:
                if not to_send and not self.meeting.missing_shares:
                    return

    def _collect_averages(self) -> None:
        unusable: set[str] = set()
        for _ in self._rounds(self.clock() + self.wait_s + _GRACE_S):
            for member in set(self.meeting.missing_averages) - unusable:
                replied = self._ask(member, "your average")
                if replied is not None and replied.content:
                    try:
                        with self.handler.lock:
                            self.meeting.add_average(member, replied.content)
                    except WireError as error:
                        log.warning("the average of %s is not used: %s [%s]", member, error.detail, error.code)
                        unusable.add(member)
            if unusable.issuperset(self.meeting.missing_averages):
                return

    def _ask(
        self,
        member: str,
        asks: Literal["who is there", "take my share", "your average"],
        *,
        members: tuple[str, ...] = (),
        content: bytes = b"",
        with_weight: bool = False,
    ) -> Replied | None:
        """Ask a member; None where it does not answer now."""
        with suppress(Unreachable):
            replied = self.calls.call(
                self.peers[member],
                asks,
                roster=self.handler.digest,
                meeting=self.number,
                members=members,
                weight=self.meeting.weight if with_weight else 0,
                content=content,
            )
            if replied.answer.meeting > self.number:
                self._ahead[member] = replied.answer.meeting
            return replied
        return None

    def _rounds(self, until: float) -> Iterator[None]:
        """Yields for each try, with growing pauses, until time is up or the device is to stop; at least once."""
        pause_s, longest_s = _PAUSE_S
        while True:
            yield
            left_s = until - self.clock()
            if left_s <= 0 or self.stop():
                return
            self.wait(min(pause_s, left_s))
            pause_s = min(2 * pause_s, longest_s)
