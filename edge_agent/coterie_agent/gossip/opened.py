"""Creates the parts of the agent for gossip meetings from the owner's settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from coterie_agent.exclusions import Exclusions
from coterie_agent.gossip.handler import GossipHandler
from coterie_agent.gossip.pass_on_handler import PassOnHandler
from coterie_agent.gossip.reaching import Reaching
from coterie_agent.peer_server import PeerHandler
from coterie_wire.meeting import MEETINGS_PATH
from coterie_wire.passing_on import PASSING_PATH


@dataclass(frozen=True)
class Gossip:
    """The gossip parts of an agent: the handler of peers' calls, the routes to peers, and the relay for others."""

    handler: GossipHandler
    reaching: Reaching
    passing: PassOnHandler | None
    """None: the device is no relay."""

    @property
    def handlers(self) -> Mapping[str, PeerHandler[Any]]:
        """The handlers of peers' calls, by path."""
        passing = {} if self.passing is None else {PASSING_PATH: self.passing}
        return {MEETINGS_PATH: self.handler, **passing}


def open_gossip(
    *,
    device: str,
    exclusions: Exclusions,
    secret: bytes,
    record_sent: Callable[[str, int], None],
    is_relay: bool,
) -> Gossip:
    """The gossip parts; `device`: its name on the platform."""
    handler = GossipHandler(device=device, trusted=exclusions.trusted, secret=secret, exclusions=exclusions)
    reaching = Reaching(own=device, secret=secret, record_sent=record_sent, exclusions=exclusions)
    passing = PassOnHandler(meetings=handler, reaching=reaching, record_sent=record_sent) if is_relay else None
    return Gossip(handler, reaching, passing)
