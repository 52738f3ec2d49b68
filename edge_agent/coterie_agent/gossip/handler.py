"""Answers calls of peers: whether the device is present, averages of received shares, its model for late peers."""

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from coterie_agent.exclusions import Exclusions
from coterie_wire.bundle import SignedManifest, read_signed
from coterie_wire.errors import WireError
from coterie_wire.exclusion import check_not_excluded
from coterie_wire.meeting import Envelope, MeetingCall, MeetingReply, Roster
from coterie_wire.relaying import Peer, read_with_body, seal, unseal, with_body

if TYPE_CHECKING:  # it loads NumPy
    from coterie_learning.meetings import Meeting

MAX_BODY_BYTES = 64 << 20
"""The largest model with its header."""
REMEMBERED_CALLS = 1 << 14
"""Calls remembered against replay: those of some hundred meetings."""


@dataclass(kw_only=True)
class GossipHandler:
    """The handler; safe to use from several threads. Hold `lock` while using a meeting that is open here."""

    device: str
    """This device's name on the platform."""
    trusted: Callable[[], tuple[bytes, ...]]
    """The platform's keys, which may change while the agent runs."""
    secret: bytes
    clock: Callable[[], float] = time.time
    """Seconds since 1970, by which rosters expire."""
    exclusions: Exclusions
    """Devices that the platform has excluded are refused."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    _roster: Roster | None = None
    _digest: str = ""
    _peers: dict[str, Peer] = field(default_factory=dict)
    _at: int = 0
    """The meeting that the device is at."""
    _meetings: "dict[int, Meeting]" = field(default_factory=dict)
    """The current meeting, once it is open, and the one before, whose average others may still request."""
    _whole: bytes = b""
    _seen_calls: dict[tuple[str, bytes], None] = field(default_factory=dict)
    """Senders and numbers of answered calls, oldest first."""

    def attend(self, signed: SignedManifest) -> Roster:
        """Answer the peers that `signed` lists from now on, and no longer those of another round.

        Raises WireError ``bundle.*``, or ``meeting.expired``.
        """
        digest = hashlib.sha256(signed.manifest).hexdigest()
        with self.lock:
            if self._roster is None or digest != self._digest:
                roster = read_signed(signed, Roster, *self.trusted())
                if self._roster is None or roster.round != self._roster.round:
                    self._at, self._whole = 0, b""
                    self._meetings.clear()
                self._roster, self._digest = roster, digest
                self._peers = {peer.device: peer for peer in roster.peers}
            self._check_time(self._roster)
            return self._roster

    @property
    def digest(self) -> str:
        """SHA-256 of the roster."""
        return self._digest

    def set_position(self, number: int, whole: bytes) -> None:
        """Record that the device trains for meeting `number`; `whole` is its model for late peers."""
        with self.lock:
            self._at, self._whole = number, whole
            self._meetings = {at: meeting for at, meeting in self._meetings.items() if at < number}

    def open(self, number: int, meeting: "Meeting") -> None:
        """Open `meeting`: the device waits for its group."""
        with self.lock:
            before = self._meetings.get(number - 1)
            self._meetings = {number: meeting} if before is None else {number - 1: before, number: meeting}
            self._at = number

    def admit(self, line: bytes) -> Peer:
        """The claimed caller. Raises WireError ``meeting.*``, ``relay.malformed`` or ``discovery.excluded``."""
        envelope, _ = read_with_body(line, Envelope)
        with self.lock:
            roster, peer = self._roster, self._peers.get(envelope.sender)
            if roster is None or peer is None or envelope.round != roster.round:
                raise WireError("meeting.not_a_peer", f"device {envelope.sender} is not in the round's roster")
            self._check_time(roster)
        check_not_excluded(peer.device, self.exclusions.devices)
        return peer

    def peer(self, device: str) -> Peer | None:
        """The device's entry in the roster; None: it is not in the roster."""
        with self.lock:
            return self._peers.get(device)

    def receive(self, peer: Peer, sealed: bytes) -> bytes:
        """The sealed answer to a peer's call. Raises WireError ``meeting.*``, ``relay.*`` or ``update.*``."""
        call, payload = read_with_body(unseal(sealed, secret=self.secret, by=peer.key), MeetingCall)
        if call.sender != peer.device or call.to != self.device:
            raise WireError("meeting.not_a_peer", "the call is not from who sealed it, or not for this device")
        with self.lock:
            self._check_not_repeated(call)
            answer, content = self._answer(call, payload)
        self.exclusions.receive_from(peer.device, call.exclusions)
        answer = msgspec.structs.replace(answer, exclusions=self.exclusions.news_for(peer.device))
        return seal(with_body(answer, content), secret=self.secret, to=peer.key)

    def _answer(self, call: MeetingCall, payload: bytes) -> tuple[MeetingReply, bytes]:
        answer = MeetingReply(number=call.number, meeting=self._at, same_roster=call.roster == self._digest)
        if call.asks == "your model":
            return answer, self._whole
        meeting = self._meetings.get(call.meeting) if answer.same_roster else None
        if meeting is None or call.sender not in meeting.group:
            return answer, b""
        if call.asks == "who is there":
            meeting.mark_present(call.sender)
        taken, content = False, b""
        if call.asks == "take my share" and call.members and call.members == meeting.members:
            taken = meeting.add_share(call.sender, call.weight, payload)
        if call.asks == "your average" and call.sender in meeting.members:
            content = meeting.average() or b""
        is_there = call.meeting == self._at
        return MeetingReply(call.number, self._at, is_there=is_there, members=meeting.members, taken=taken), content

    def _check_not_repeated(self, call: MeetingCall) -> None:
        """Raises WireError ``meeting.repeated`` for a replayed call, whose answer may be a whole model."""
        number = (call.sender, call.number)
        if number in self._seen_calls:
            raise WireError("meeting.repeated", "the call has been answered before")
        self._seen_calls[number] = None
        if len(self._seen_calls) > REMEMBERED_CALLS:
            del self._seen_calls[next(iter(self._seen_calls))]

    def _check_time(self, roster: Roster) -> None:
        if roster.expires_at < self.clock():
            raise WireError("meeting.expired", "the roster of the round has expired; nobody meets under it any more")
