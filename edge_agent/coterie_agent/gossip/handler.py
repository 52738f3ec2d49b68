"""What a device answers its peers: whether it is there, averages of what they sent, and its model for latecomers."""

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
"""A model at its largest, and what is said with it."""
REMEMBERED_CALLS = 1 << 14
"""Those of some hundred meetings."""


@dataclass(kw_only=True)
class GossipHandler:
    """Safe to use from several threads; whoever uses a meeting that is open here holds `lock`."""

    device: str
    """Its own name at the platform."""
    trusted: Callable[[], tuple[bytes, ...]]
    """The platform's keys, which may change while the agent runs."""
    secret: bytes
    clock: Callable[[], float] = time.time
    """Seconds since 1970, by which rosters expire."""
    exclusions: Exclusions
    """Devices that the platform has excluded since are turned away."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    _roster: Roster | None = None
    _digest: str = ""
    _peers: dict[str, Peer] = field(default_factory=dict)
    _at: int = 0
    """The meeting that the device is at."""
    _meetings: "dict[int, Meeting]" = field(default_factory=dict)
    """That one, once the device has come to it, and the one before, whose average others may still want."""
    _whole: bytes = b""
    _shares: dict[tuple[str, bytes], None] = field(default_factory=dict)
    """Who called, and the numbers of the calls; the oldest first."""

    def attend(self, signed: SignedManifest) -> Roster:
        """From now on answer the peers that `signed` lists, another round's no more.

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

    def stand_at(self, number: int, whole: bytes) -> None:
        """The device trains for meeting `number`; `whole` is its model, as latecomers may have it."""
        with self.lock:
            self._at, self._whole = number, whole
            self._meetings = {at: meeting for at, meeting in self._meetings.items() if at < number}

    def open(self, number: int, meeting: "Meeting") -> None:
        """The device has come to `meeting`, and waits for its group."""
        with self.lock:
            before = self._meetings.get(number - 1)
            self._meetings = {number: meeting} if before is None else {number - 1: before, number: meeting}
            self._at = number

    def admit(self, line: bytes) -> Peer:
        """Who says that it calls. Raises WireError ``meeting.*``, ``relay.malformed`` or ``discovery.excluded``."""
        envelope, _ = read_with_body(line, Envelope)
        with self.lock:
            roster, peer = self._roster, self._peers.get(envelope.sender)
            if roster is None or peer is None or envelope.round != roster.round:
                raise WireError("meeting.not_a_peer", f"device {envelope.sender} is not in the round's roster")
            self._check_time(roster)
        check_not_excluded(peer.device, self.exclusions.devices)
        return peer

    def peer(self, device: str) -> Peer | None:
        """A device of the roster; None: it is not in it."""
        with self.lock:
            return self._peers.get(device)

    def receive(self, peer: Peer, sealed: bytes) -> bytes:
        """The sealed answer to a peer's call. Raises WireError ``meeting.*``, ``relay.*`` or ``update.*``."""
        call, payload = read_with_body(unseal(sealed, secret=self.secret, by=peer.key), MeetingCall)
        if call.sender != peer.device or call.to != self.device:
            raise WireError("meeting.not_a_peer", "the call is not from who sealed it, or not for this device")
        with self.lock:
            self._hear_once(call)
            answer, content = self._answer(call, payload)
        self.exclusions.hear_from(peer.device, call.exclusions)
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

    def _hear_once(self, call: MeetingCall) -> None:
        """A call that somebody has recorded and sends again is not answered: the answer may be a whole model."""
        number = (call.sender, call.number)
        if number in self._shares:
            raise WireError("meeting.repeated", "the call has been answered before")
        self._shares[number] = None
        if len(self._shares) > REMEMBERED_CALLS:
            del self._shares[next(iter(self._shares))]

    def _check_time(self, roster: Roster) -> None:
        if roster.expires_at < self.clock():
            raise WireError("meeting.expired", "the roster of the round has expired; nobody meets under it any more")
