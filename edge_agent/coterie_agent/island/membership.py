"""The device as a voter of its island; it takes part only while the platform is unreachable."""

import logging
import random
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from coterie_agent.errors import AgentError
from coterie_agent.exclusions import Exclusions
from coterie_agent.island.raft import Raft, Saved
from coterie_agent.link.failure import is_retryable
from coterie_agent.store.island import IslandStore
from coterie_agent.store.journal import IslandStatus
from coterie_wire.errors import WireError
from coterie_wire.exclusion import check_not_excluded
from coterie_wire.island import Calling, Holding, Island, Parcel, RaftMessage, read_island
from coterie_wire.relaying import Lead, Peer, read_with_body, seal, unseal, with_body
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)
AGREED_S = 3.0
"""Seconds that a device waits for the voters to agree that its update is held."""
MAX_PARCEL_BYTES = 1 << 21
MAX_MESSAGES = 16
"""Messages queued for a voter that does not answer; older ones are superseded by newer ones."""
_UNKNOWN = bytes(16)


@dataclass(kw_only=True)
class IslandMembership:
    """The membership; safe to use from several threads."""

    device: str
    """This device's name on the platform."""
    trusted: Callable[[], tuple[bytes, ...]]
    """The platform's keys."""
    secret: bytes
    store: IslandStore
    rng: random.Random = field(default_factory=random.SystemRandom)
    monotonic: Callable[[], float] = time.monotonic
    clock: Callable[[], float] = time.time
    exclusions: Exclusions
    """Devices that the platform has excluded are refused."""
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _followed_lead: Lead | None = None
    _island: Island | None = None
    _raft: Raft | None = None
    _stored: Saved = field(default_factory=Saved)
    _is_cut_off: bool = False
    _session: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    _outbox: dict[str, list[RaftMessage]] = field(default_factory=lambda: defaultdict(list))
    _sessions: dict[str, bytes] = field(default_factory=dict)
    """By voter, its current session, as received from it."""
    _last_parcels: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    """By voter, its session and the number of its newest parcel, against replay."""
    _former: set[bytes] = field(default_factory=set)
    """Ended sessions."""
    _number: int = 0
    _is_stopping: bool = False

    def __post_init__(self) -> None:
        self.stored_lead = self.store.lead()
        """The supernode role as stored before this process began."""

    def follow(self, lead: Lead | None, *, is_cut_off: bool) -> None:
        """Follow the platform's latest `lead`. Raises WireError ``bundle.*`` where the platform has not signed it."""
        followed = None if lead is None or lead.island is None else msgspec.structs.replace(lead, order=None)
        with self._changed:
            if followed != self._followed_lead:
                self._followed_lead = followed
                self._begin(followed)
            if is_cut_off != self._is_cut_off:
                self._is_cut_off = is_cut_off
                if self._raft is not None:  # its role ends; its term and vote stay
                    self._raft = self._voter(self._stored)
                self._outbox.clear()
            self._changed.notify_all()

    def stop(self) -> None:
        """Wake all waiting threads, as the agent ends."""
        with self._changed:
            self._is_stopping, self._is_cut_off = True, False
            self._changed.notify_all()

    @property
    def island(self) -> Island | None:
        """The island that it takes part in now; None: there is none, or the platform is reachable."""
        with self._changed:
            island = self._island
            is_over = island is None or self._raft is None or island.expires_at < self.clock()
            return None if is_over or not self._is_cut_off else island

    def substitutes_for(self, supernode: str) -> bool:
        """Whether this device may accept updates that the platform has routed to `supernode`."""
        island = self.island
        return island is not None and island.voter(supernode) is not None

    def tick(self) -> None:
        """Do what is due, and wait until more is due or something has changed."""
        with self._changed:
            due_s = None
            if self.island is not None and self._raft is not None:
                self._raft.tick(self.monotonic())
                self._settle()
                due_s = max(0.0, self._raft.due_at - self.monotonic())
            if not self._is_stopping:
                self._changed.wait(due_s)

    # Holdings.

    def keeper(self, assignment: str, sha256: str) -> str | None:
        """The voter that holds or accepts an update: this one, another, or None while there is no leader."""
        with self._changed:
            raft = self._raft
            if self.island is None or raft is None:
                return None
            held = raft.holdings().get(assignment)
            if held is not None and held.sha256 == sha256:
                if held.holder == self.device:
                    return self.device
                if raft.role == "leader" and held.holder in raft.live(self.monotonic()):
                    return held.holder
            return raft.leader

    def agree(self, holding: Holding, *, within_s: float = AGREED_S) -> bool:
        """Whether a majority of the voters has stored that this device holds an update."""
        with self._changed:
            raft = self._raft
            if raft is None or self.island is None:
                return False
            if raft.holdings().get(holding.assignment) == holding:
                return True
            if raft.propose(holding, self.monotonic()) is None:
                return False
            self._settle()
            self._changed.wait_for(lambda: self._has_ended(raft, holding), within_s)
            return self._raft is raft and raft.holdings().get(holding.assignment) == holding

    def holders(self) -> Mapping[str, str]:
        """By assignment, the voter that holds its update, as known here."""
        status = self.status()
        return {} if status is None else status.holders

    def _has_ended(self, raft: Raft, holding: Holding) -> bool:
        return self._raft is not raft or raft.role != "leader" or raft.holdings().get(holding.assignment) == holding

    def status(self) -> IslandStatus | None:
        """The status for the owner; None: it takes part in no island."""
        with self._changed:
            island, raft = self.island, self._raft
            if island is None or raft is None:
                return None
            return IslandStatus(
                voters=tuple(voter.device for voter in island.voters),
                leader=raft.leader,
                term=raft.saved.term,
                holders={one.assignment: one.holder for one in raft.holdings().values()},
            )

    # Messages between voters.

    def others(self) -> Sequence[Peer]:
        """The other voters of the island that it takes part in."""
        island = self.island
        return () if island is None else [voter for voter in island.voters if voter.device != self.device]

    def parcel(self, voter: Peer) -> tuple[Parcel, bytes] | None:
        """Wait for messages to `voter`; the parcel, and its encrypted bytes. None: the device takes part no longer."""
        with self._changed:
            self._changed.wait_for(lambda: self._outbox.get(voter.device) or voter not in self.others())
            island, messages = self.island, self._outbox.pop(voter.device, None)
            if island is None or not messages:
                return None
            self._number += 1
            session_seen = self._sessions.get(voter.device, _UNKNOWN)
            parcel = self._wrap(island.name, voter.device, session_seen, self._number, messages)
        sealed = seal(with_body(parcel), secret=self.secret, to=voter.key)
        return parcel, with_body(Calling(island.name, self.device), sealed)

    def receive_answer(self, voter: Peer, asked: Parcel, sealed: bytes) -> None:
        """Handle a voter's answer to the parcel `asked`. Raises WireError ``relay.*`` or ``island.*``."""
        answer = self._open(voter, sealed)
        if answer.told != asked.session or answer.number != asked.number:
            raise WireError("island.not_for_me", "the answer is to another parcel")
        with self._changed:
            if self._sessions.get(voter.device) != answer.session:  # it has ignored the parcel
                self._sessions[voter.device] = answer.session
                self._outbox[voter.device][:0] = asked.messages
            self._receive(answer)

    def admit(self, line: bytes) -> Peer:
        """The calling voter. Raises WireError ``island.*``, ``relay.malformed`` or ``discovery.excluded``."""
        calling, _ = read_with_body(line, Calling)
        island = self._island
        voter = None if island is None or island.name != calling.island else island.voter(calling.sender)
        if voter is None or voter.device == self.device:
            raise WireError("island.not_a_voter", f"device {calling.sender} is no voter of an island of this device")
        check_not_excluded(voter.device, self.exclusions.devices)
        return voter

    def receive(self, voter: Peer, sealed: bytes) -> bytes:
        """The sealed answer to a voter's parcel; without messages while this device reaches the platform.

        Raises WireError ``relay.*`` or ``island.*``.
        """
        parcel = self._open(voter, sealed)
        with self._changed:
            if self.island is not None and self._is_new(parcel):
                self._receive(parcel)
            messages = () if self.island is None else self._outbox.pop(voter.device, ())
            answer = self._wrap(parcel.island, voter.device, parcel.session, parcel.number, messages)
        return seal(with_body(answer), secret=self.secret, to=voter.key)

    def _is_new(self, parcel: Parcel) -> bool:
        """Whether the parcel was made for this process, and is not a replay."""
        session, number = self._last_parcels.get(parcel.sender, (parcel.session, 0))
        if parcel.told != self._session or parcel.session in self._former:
            return False
        if parcel.session != session:
            self._former.add(session)
            number = 0
        if parcel.number <= number:
            return False
        self._last_parcels[parcel.sender] = (parcel.session, parcel.number)
        return True

    def _wrap(self, island: str, to: str, session_seen: bytes, number: int, messages: Sequence[RaftMessage]) -> Parcel:
        news = self.exclusions.news_for(to)
        return Parcel(island, self.device, to, self._session, session_seen, number, tuple(messages), news)

    def _open(self, voter: Peer, sealed: bytes) -> Parcel:
        if len(sealed) > MAX_PARCEL_BYTES:
            raise WireError("relay.malformed", f"a parcel of more than {MAX_PARCEL_BYTES} bytes")
        parcel, _ = read_with_body(unseal(sealed, secret=self.secret, by=voter.key), Parcel)
        island = self._island
        if island is None or (parcel.island, parcel.sender, parcel.to) != (island.name, voter.device, self.device):
            raise WireError("island.not_for_me", "the parcel is for another device, or another island")
        self.exclusions.receive_from(voter.device, parcel.exclusions)
        return parcel

    def _receive(self, parcel: Parcel) -> None:
        if self.island is None or self._raft is None:
            return
        for message in parcel.messages:
            self._raft.receive(parcel.sender, message, self.monotonic())
        self._settle()

    # The voter.

    def _begin(self, lead: Lead | None) -> None:
        self._island = self._raft = None
        self._outbox.clear()
        if lead is None or lead.island is None:
            self.store.end()
            return
        try:
            island = read_island(lead.island, *self.trusted(), now=self.clock())
        except WireError as error:
            if error.code != "island.expired":
                raise
            return
        if island.voter(self.device) is None:
            return
        state = self.store.begin(island.name, lead)
        if state is None:
            log.error("what this device has voted for was damaged on the disk; it votes in this island no more")
            return
        self._island = island
        self._stored = from_json(state, Saved) if state else Saved()
        self._raft = self._voter(self._stored)

    def _voter(self, saved: Saved) -> Raft:
        assert self._island is not None, "a voter has one"
        voters = [voter.device for voter in self._island.voters]
        return Raft(self.device, voters, saved, rng=self.rng, now=self.monotonic())

    def _settle(self) -> None:
        """Store the voter state, and only then release messages that depend on it."""
        raft = self._raft
        assert raft is not None, "something has happened to it"
        if raft.saved != self._stored:
            try:
                self.store.save(msgspec.json.encode(raft.saved))
            except AgentError as error:
                if not is_retryable(error):
                    raise
                log.warning("this device does not vote now: %s", error.detail)
                self._raft = self._voter(self._stored)
                return
            self._stored = raft.saved
        for voter, message in raft.take():
            self._outbox[voter] = [*self._outbox[voter], message][-MAX_MESSAGES:]
        self._changed.notify_all()
