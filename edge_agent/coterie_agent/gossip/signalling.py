"""Signals that set up direct paths between peers: by the platform, or by relays while it is unreachable."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from coterie_agent.gossip.pass_on_handler import PassOnHandler
from coterie_agent.gossip.reaching import Reaching
from coterie_agent.link.failure import Unreachable
from coterie_agent.situation import Situation
from coterie_wire.passing_on import PeerSignal
from coterie_wire.paths import SendSignal, Signal

log = logging.getLogger(__name__)
POLL_S = 2.0
"""Seconds between two polls of the relays, while the platform is unreachable."""


@dataclass(kw_only=True)
class PeerSignalling:
    """The signalling of one device."""

    own: str
    reaching: Reaching
    situation: Situation
    to_platform: Callable[[SendSignal], None]
    """Raises AgentError."""
    passing: PassOnHandler | None = None
    """None: the device is not a relay."""

    def send(self, signal: SendSignal) -> None:
        """Send a signal to a peer. Raises AgentError where neither the platform nor a relay forwards it."""
        why = "the platform is away"
        if not self.situation.now.is_cut_off:
            try:
                self.to_platform(signal)
                return
            except Unreachable as error:
                why = error.detail
        peer_signal = PeerSignal(signal.path, self.own, signal.to, signal.sealed)
        is_kept = self.passing is not None
        if self.passing is not None:
            self.passing.keep([peer_signal])
        for relay in self.reaching.relays:
            with suppress(Unreachable):
                self.reaching.ask_relay(relay, signals=[peer_signal], opens_path=False)
                is_kept = True
        if not is_kept:
            raise Unreachable(f"{why}, and no relay passes on what the two would tell each other")

    def attend(self, receive: Callable[[Sequence[Signal]], None]) -> None:
        """While the platform is unreachable, `receive` signals from relays, until the situation's `stop` is set."""
        while not (now := self.situation.now).stopping:
            if now.is_cut_off:
                receive(self._poll_relays())
            self.situation.wait(now.edition, POLL_S if now.is_cut_off else None)

    def _poll_relays(self) -> list[Signal]:
        found = [] if self.passing is None else list(self.passing.signals_for(self.own))
        for relay in self.reaching.relays:
            with suppress(Unreachable):
                found += self.reaching.ask_relay(relay, opens_path=False)[0]
        ways = {signal.sender: self.reaching.way_to(signal.sender) for signal in found if signal.to == self.own}
        return [
            Signal(signal.path, way, signal.sealed) for signal in found if (way := ways.get(signal.sender)) is not None
        ]
