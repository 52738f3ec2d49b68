"""Signals between peers, so that they meet on direct paths: by the platform, and by relays while it is away."""

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
LOOK_EVERY_S = 2.0
"""Whether relays have signals, while the platform is away."""


@dataclass(kw_only=True)
class PeerSignalling:
    """Of one device."""

    own: str
    reaching: Reaching
    situation: Situation
    to_platform: Callable[[SendSignal], None]
    """Raises AgentError."""
    passing: PassOnHandler | None = None
    """Where it is a relay itself."""

    def send(self, signal: SendSignal) -> None:
        """Have it passed on. Raises AgentError where nobody does."""
        why = "the platform is away"
        if not self.situation.now.is_cut_off:
            try:
                self.to_platform(signal)
                return
            except Unreachable as error:
                why = error.detail
        told = PeerSignal(signal.path, self.own, signal.to, signal.sealed)
        is_kept = self.passing is not None
        if self.passing is not None:
            self.passing.keep([told])
        for relay in self.reaching.relays:
            with suppress(Unreachable):
                self.reaching.ask_relay(relay, signals=[told], opens_path=False)
                is_kept = True
        if not is_kept:
            raise Unreachable(f"{why}, and no relay passes on what the two would tell each other")

    def attend(self, hear: Callable[[Sequence[Signal]], None]) -> None:
        """While the platform is away, `hear` what relays have for this device, until the situation says to stop."""
        while not (now := self.situation.now).stopping:
            if now.is_cut_off:
                hear(self._looked())
            self.situation.wait(now.edition, LOOK_EVERY_S if now.is_cut_off else None)

    def _looked(self) -> list[Signal]:
        found = [] if self.passing is None else list(self.passing.kept_for(self.own))
        for relay in self.reaching.relays:
            with suppress(Unreachable):
                found += self.reaching.ask_relay(relay, opens_path=False)[0]
        ways = {told.sender: self.reaching.way_to(told.sender) for told in found if told.to == self.own}
        return [Signal(told.path, way, told.sealed) for told in found if (way := ways.get(told.sender)) is not None]
