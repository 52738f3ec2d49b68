"""Routes to each peer of a round: its address, else a direct path, else a relay among the peers."""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from coterie_agent.exclusions import Exclusions
from coterie_agent.gossip.answers import own_answer
from coterie_agent.gossip.handler import MAX_BODY_BYTES
from coterie_agent.link.failure import Unreachable
from coterie_agent.link.neighbour import ask_neighbour
from coterie_wire.meeting import MEETINGS_PATH, Envelope, Gathering, Roster
from coterie_wire.passing_on import PASSING_PATH, PassedOn, PassOn, PeerSignal
from coterie_wire.relaying import DirectPeer, Peer, seal, with_body

if TYPE_CHECKING:  # it loads asyncio
    from coterie_agent.direct.paths import DirectPaths

log = logging.getLogger(__name__)
T = TypeVar("T")
REMEMBERED_S = 600.0
"""Seconds for which the route that last reached a peer is tried first."""
_AT_ADDRESS, _BY_PATH = "at its address", "by a direct path"


class _Try(NamedTuple):
    way: str
    ask: Callable[[], bytes]


class _Peers(NamedTuple):
    """The peers of a round, as its roster and the platform name them."""

    round: str = ""
    ways: Mapping[str, DirectPeer] = {}
    """By device, for peers that open direct paths."""
    relays: Sequence[Peer] = ()


@dataclass(kw_only=True)
class Reaching:
    """The routes of one device to its peers; safe to use from several threads."""

    own: str
    """This device's name on the platform."""
    secret: bytes
    record_sent: Callable[[str, int], None]
    exclusions: Exclusions
    """Devices that the platform has excluded are not called."""
    paths: "DirectPaths | None" = None
    """None: the device opens no direct paths."""
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _peers: _Peers = field(default_factory=_Peers)
    _reached: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By device, the route that last reached it, and the time until which that route is tried first."""

    def follow(self, roster: Roster, gathering: Gathering) -> None:
        """Set the peers of the round from now on."""
        named = {peer.device: peer for peer in roster.peers if peer.device != self.own}
        ways = {name: DirectPeer(name, named[name].key, gathering.stun) for name in gathering.paths if name in named}
        self._peers = _Peers(roster.round, ways, [named[name] for name in gathering.relays if name in named])

    @property
    def relays(self) -> Sequence[Peer]:
        """Peers that relay messages between peers which cannot reach each other."""
        return [relay for relay in self._peers.relays if relay.device not in self.exclusions.devices]

    def way_to(self, device: str) -> DirectPeer | None:
        """The direct path to `device`; None: it is not a peer, or opens no direct paths."""
        return self._peers.ways.get(device)

    def ask(self, peer: Peer, address: str, body: bytes, read: Callable[[bytes], T]) -> T:
        """The answer of a peer's meetings handler, parsed by `read`, which raises Unreachable for another's answer.

        Raises Unreachable where no route reaches the peer.
        """
        through = [
            _Try(f"through device {relay.device}", partial(self._ask_through, relay, peer, body))
            for relay in self.relays
            if relay.device != peer.device
        ]
        return self._first_answer(peer, [*self._direct_tries(peer, address, MEETINGS_PATH, body), *through], read)

    def ask_directly(self, peer: Peer, body: bytes) -> bytes:
        """The answer of a peer's meetings handler, without the help of a relay. Raises Unreachable."""
        tries = self._direct_tries(peer, peer.address, MEETINGS_PATH, body)
        return self._first_answer(peer, tries, lambda answer: answer)

    def ask_relay(
        self,
        relay: Peer,
        *,
        signals: Sequence[PeerSignal] = (),
        to: Peer | None = None,
        body: bytes = b"",
        opens_path: bool = True,
    ) -> tuple[Sequence[PeerSignal], bytes]:
        """The signals that a relay has for this device, and the answer of peer `to` to `body`.

        With `opens_path` false the relay is asked at its address, or by a path already open. Raises Unreachable.
        """
        number = secrets.token_bytes(16)
        request = PassOn(
            self.own,
            relay.device,
            number,
            tuple(signals),
            None if to is None else to.device,
            self.exclusions.news_for(relay.device),
        )
        sealed = seal(with_body(request, body), secret=self.secret, to=relay.key)
        sealed_request = with_body(Envelope(self._peers.round, self.own), sealed)

        def read(reply: bytes) -> tuple[Sequence[PeerSignal], bytes]:
            passed, answer = own_answer(reply, PassedOn, relay, number, secret=self.secret)
            self.exclusions.receive_from(relay.device, passed.exclusions)
            if passed.refusal is not None:
                raise Unreachable(f"device {relay.device} does not pass it on: {passed.refusal.sentence}")
            return passed.signals, answer

        if signals:
            self.record_sent("signal to a peer", len(sealed_request))
        tries = self._direct_tries(relay, relay.address, PASSING_PATH, sealed_request, opens_path=opens_path)
        return self._first_answer(relay, tries, read)

    def _ask_through(self, relay: Peer, peer: Peer, body: bytes) -> bytes:
        return self.ask_relay(relay, to=peer, body=body)[1]

    def _direct_tries(
        self, peer: Peer, address: str, handler: str, body: bytes, *, opens_path: bool = True
    ) -> list[_Try]:
        at_address = partial(ask_neighbour, address, handler, body, at_most_bytes=MAX_BODY_BYTES)
        tries = [_Try(_AT_ADDRESS, at_address)]
        paths, way = self.paths, self.way_to(peer.device)
        if paths is not None and way is not None and (opens_path or paths.is_open(peer.device)):
            tries.append(_Try(_BY_PATH, partial(paths.ask, way, handler, body, at_most_bytes=MAX_BODY_BYTES)))
        return tries

    def _first_answer(self, peer: Peer, tries: Sequence[_Try], read: Callable[[bytes], T]) -> T:
        with self._lock:
            known, until = self._reached.get(peer.device, ("", 0.0))
        if self.clock() < until:
            tries = sorted(tries, key=lambda one: one.way != known)
        why: list[str] = []
        for one in tries:
            try:
                answer = read(one.ask())
            except Unreachable as error:
                why.append(error.detail)
            else:
                self._remember(peer.device, one.way, is_new=one.way != known)
                return answer
        raise Unreachable("; ".join(why))

    def _remember(self, device: str, way: str, *, is_new: bool) -> None:
        now = self.clock()
        with self._lock:
            self._reached = {name: found for name, found in self._reached.items() if found[1] > now}
            self._reached[device] = (way, now + REMEMBERED_S)
        if is_new:
            log.info("device %s is reached %s", device, way)
