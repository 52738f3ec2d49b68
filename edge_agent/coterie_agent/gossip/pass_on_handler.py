"""A relay among the peers of a round: it stores signals for a minute, and forwards calls to other peers.

It can decrypt neither. Only a device whose owner lets it serve its neighbours (``[relay]``) is a relay.
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
    """The handler; safe to use from several threads."""

    meetings: GossipHandler
    """Knows the peers of the round."""
    reaching: Reaching
    record_sent: Callable[[str, int], None]
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _signals: dict[str, deque[tuple[float, PeerSignal]]] = field(default_factory=dict)
    """By sender, its newest signals with their times of expiry."""

    def admit(self, line: bytes) -> Peer:
        """The claimed caller. Raises WireError ``meeting.*``, ``relay.malformed`` or ``discovery.excluded``."""
        return self.meetings.admit(line)

    def receive(self, peer: Peer, sealed: bytes) -> bytes:
        """The sealed answer. Raises WireError ``meeting.*`` or ``relay.*``."""
        secret = self.meetings.secret
        request, body = read_with_body(unseal(sealed, secret=secret, by=peer.key), PassOn)
        senders = {request.sender, *(signal.sender for signal in request.signals)}
        if senders != {peer.device} or request.relay != self.meetings.device:
            raise WireError("meeting.not_a_peer", "it is not from who sealed it, or not for this relay")
        self.keep(request.signals)
        exclusions = self.reaching.exclusions
        exclusions.receive_from(peer.device, request.exclusions)
        refusal, answer = None, b""
        if request.to is not None:
            try:
                answer = self._forward(request.to, body)
            except Unreachable as error:
                refusal = Reason("meeting.not_reached", error.detail[:400])
        kept = tuple(self.signals_for(peer.device))
        passed = PassedOn(request.number, kept, refusal, exclusions.news_for(peer.device))
        return seal(with_body(passed, answer), secret=secret, to=peer.key)

    def keep(self, signals: Iterable[PeerSignal]) -> None:
        """Store signals for their receivers, for a minute."""
        now = self.clock()
        with self._lock:
            ended = [sender for sender, kept in self._signals.items() if kept[-1][0] < now]
            for sender in ended:
                del self._signals[sender]
            for signal in signals:
                self._signals.setdefault(signal.sender, deque(maxlen=MAX_SIGNALS)).append((now + SIGNAL_S, signal))

    def signals_for(self, device: str) -> Sequence[PeerSignal]:
        """Signals that others have sent to `device` in the last minute."""
        now = self.clock()
        with self._lock:
            kept = [one for own in self._signals.values() for one in own]
        found = sorted((one for one in kept if one[1].to == device and one[0] >= now), key=lambda one: one[0])
        return [signal for _, signal in found[-MAX_SIGNALS:]]

    def _forward(self, device: str, body: bytes) -> bytes:
        """The answer of `device` to `body`. Raises Unreachable, and WireError ``meeting.not_a_peer``."""
        self.reaching.exclusions.check_may_call(device)
        peer = self.meetings.peer(device)
        if peer is None or device == self.meetings.device:
            raise WireError("meeting.not_a_peer", f"device {device} is not another peer of the round")
        self.record_sent("passed on to a peer", len(body))
        return self.reaching.ask_directly(peer, body)
