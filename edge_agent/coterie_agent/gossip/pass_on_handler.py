"""What a relay does for the other peers of its round: it keeps signals for a minute, and brings calls to their peers.

It reads neither. Only a device whose owner lets it serve its neighbours (``[relay]``) is one.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from coterie_agent.gossip.handler import GossipHandler
from coterie_agent.gossip.reaching import Reaching
from coterie_agent.link.failure import Unreachable
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.passing_on import PassedOn, PassOn, PeerSignal
from coterie_wire.paths import MAX_SIGNALS, SIGNAL_S
from coterie_wire.relaying import Peer, read_with_body, seal, unseal, with_body


@dataclass(kw_only=True)
class PassOnHandler:
    """Safe to use from several threads."""

    meetings: GossipHandler
    """Which knows the peers of the round."""
    reaching: Reaching
    record_sent: Callable[[str, int], None]
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _kept: dict[str, deque[tuple[float, PeerSignal]]] = field(default_factory=dict)
    """By sender, its newest signals, and until when they are passed on."""

    def admit(self, line: bytes) -> Peer:
        """Who says that it calls. Raises WireError ``meeting.*``, ``relay.malformed`` or ``discovery.excluded``."""
        return self.meetings.admit(line)

    def receive(self, peer: Peer, sealed: bytes) -> bytes:
        """The sealed answer. Raises WireError ``meeting.*`` or ``relay.*``."""
        secret = self.meetings.secret
        told, body = read_with_body(unseal(sealed, secret=secret, by=peer.key), PassOn)
        senders = {told.sender, *(signal.sender for signal in told.signals)}
        if senders != {peer.device} or told.relay != self.meetings.device:
            raise WireError("meeting.not_a_peer", "it is not from who sealed it, or not for this relay")
        self.keep(told.signals)
        exclusions = self.reaching.exclusions
        exclusions.hear_from(peer.device, told.exclusions)
        refusal, answer = None, b""
        if told.to is not None:
            try:
                answer = self._asked(told.to, body)
            except Unreachable as error:
                refusal = Reason("meeting.not_reached", error.detail[:400])
        kept = tuple(self.kept_for(peer.device))
        passed = PassedOn(told.number, kept, refusal, exclusions.news_for(peer.device))
        return seal(with_body(passed, answer), secret=secret, to=peer.key)

    def keep(self, signals: Iterable[PeerSignal]) -> None:
        """Have them for those whom they are for, for a minute."""
        now = self.clock()
        with self._lock:
            ended = [sender for sender, kept in self._kept.items() if kept[-1][0] < now]
            for sender in ended:
                del self._kept[sender]
            for signal in signals:
                self._kept.setdefault(signal.sender, deque(maxlen=MAX_SIGNALS)).append((now + SIGNAL_S, signal))

    def kept_for(self, device: str) -> Sequence[PeerSignal]:
        """What others have sent it within the last minute."""
        now = self.clock()
        with self._lock:
            kept = [one for own in self._kept.values() for one in own]
        found = sorted((one for one in kept if one[1].to == device and one[0] >= now), key=lambda one: one[0])
        return [signal for _, signal in found[-MAX_SIGNALS:]]

    def _asked(self, device: str, body: bytes) -> bytes:
        """Raises Unreachable, and WireError ``meeting.not_a_peer``."""
        self.reaching.exclusions.check_may_call(device)
        peer = self.meetings.peer(device)
        if peer is None or device == self.meetings.device:
            raise WireError("meeting.not_a_peer", f"device {device} is not another peer of the round")
        self.record_sent("passed on to a peer", len(body))
        return self.reaching.ask_straight(peer, body)
