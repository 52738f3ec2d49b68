"""How a device reaches each peer of its round: at its door, else by a direct path, else through a relay among them."""

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
"""For so long the way by which a peer was reached is tried before others."""
_AT_ITS_ADDRESS, _BY_A_PATH = "at its address", "by a direct path"


class _Try(NamedTuple):
    way: str
    ask: Callable[[], bytes]


class _Peers(NamedTuple):
    """Those of a round, as its roster and the platform name them."""

    round: str = ""
    ways: Mapping[str, DirectPeer] = {}
    """By device, to those that open direct paths."""
    relays: Sequence[Peer] = ()


@dataclass(kw_only=True)
class Reaching:
    """Of one device. Safe to use from several threads."""

    own: str
    """Its name at the platform."""
    secret: bytes
    record_sent: Callable[[str, int], None]
    exclusions: Exclusions
    """What is heard of devices that the platform has excluded since, which are not called."""
    paths: "DirectPaths | None" = None
    """None: it opens none."""
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _peers: _Peers = field(default_factory=_Peers)
    _reached: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By device, the way by which it was reached last, and until when that one is tried first."""

    def follow(self, roster: Roster, gathering: Gathering) -> None:
        """Whom the device may meet from now on."""
        named = {peer.device: peer for peer in roster.peers if peer.device != self.own}
        ways = {name: DirectPeer(name, named[name].key, gathering.stun) for name in gathering.paths if name in named}
        self._peers = _Peers(roster.round, ways, [named[name] for name in gathering.relays if name in named])

    @property
    def relays(self) -> Sequence[Peer]:
        """Peers that pass on what others cannot send each other."""
        return [relay for relay in self._peers.relays if relay.device not in self.exclusions.devices]

    def way_to(self, device: str) -> DirectPeer | None:
        """None: it is no peer, or opens no direct paths."""
        return self._peers.ways.get(device)

    def ask(self, peer: Peer, address: str, body: bytes, read: Callable[[bytes], T]) -> T:
        """What `read` makes of the answer of a peer's meetings; it raises Unreachable where the answer is another's.

        Raises Unreachable where no way leads to the peer.
        """
        through = [
            _Try(f"through device {relay.device}", partial(self._through, relay, peer, body))
            for relay in self.relays
            if relay.device != peer.device
        ]
        return self._first_that_answers(peer, [*self._straight(peer, address, MEETINGS_PATH, body), *through], read)

    def ask_straight(self, peer: Peer, body: bytes) -> bytes:
        """The answer of a peer's handler for meetings, which no relay is asked to bring. Raises Unreachable."""
        tries = self._straight(peer, peer.address, MEETINGS_PATH, body)
        return self._first_that_answers(peer, tries, lambda answer: answer)

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

        With `opens_path` false it is asked at its address, or by a path that is open already. Raises Unreachable.
        """
        number = secrets.token_bytes(16)
        told = PassOn(
            self.own,
            relay.device,
            number,
            tuple(signals),
            None if to is None else to.device,
            self.exclusions.news_for(relay.device),
        )
        sealed = seal(with_body(told, body), secret=self.secret, to=relay.key)
        asked = with_body(Envelope(self._peers.round, self.own), sealed)

        def read(reply: bytes) -> tuple[Sequence[PeerSignal], bytes]:
            passed, answer = own_answer(reply, PassedOn, relay, number, secret=self.secret)
            self.exclusions.hear_from(relay.device, passed.exclusions)
            if passed.refusal is not None:
                raise Unreachable(f"device {relay.device} does not pass it on: {passed.refusal.sentence}")
            return passed.signals, answer

        if signals:
            self.record_sent("signal to a peer", len(asked))
        tries = self._straight(relay, relay.address, PASSING_PATH, asked, opens_path=opens_path)
        return self._first_that_answers(relay, tries, read)

    def _through(self, relay: Peer, peer: Peer, body: bytes) -> bytes:
        return self.ask_relay(relay, to=peer, body=body)[1]

    def _straight(self, peer: Peer, address: str, handler: str, body: bytes, *, opens_path: bool = True) -> list[_Try]:
        at_address = partial(ask_neighbour, address, handler, body, at_most_bytes=MAX_BODY_BYTES)
        tries = [_Try(_AT_ITS_ADDRESS, at_address)]
        paths, way = self.paths, self.way_to(peer.device)
        if paths is not None and way is not None and (opens_path or paths.is_open(peer.device)):
            tries.append(_Try(_BY_A_PATH, partial(paths.ask, way, handler, body, at_most_bytes=MAX_BODY_BYTES)))
        return tries

    def _first_that_answers(self, peer: Peer, tries: Sequence[_Try], read: Callable[[bytes], T]) -> T:
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
