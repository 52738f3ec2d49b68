"""All that an agent has for meetings, as its owner's settings have it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from coterie_agent.exclusions import Exclusions
from coterie_agent.gossip.desk import Desk
from coterie_agent.gossip.passing_desk import PassingDesk
from coterie_agent.gossip.reaching import Reaching
from coterie_agent.peer_door import Desk as PeerDesk
from coterie_wire.meeting import MEETINGS_PATH
from coterie_wire.passing_on import PASSING_PATH


@dataclass(frozen=True)
class Gossip:
    """Its parts."""

    desk: Desk
    reaching: Reaching
    passing: PassingDesk | None
    """None: the device is no relay."""

    @property
    def desks(self) -> Mapping[str, PeerDesk[Any]]:
        """Who answers its peers, by path."""
        passing = {} if self.passing is None else {PASSING_PATH: self.passing}
        return {MEETINGS_PATH: self.desk, **passing}


def open_gossip(
    *,
    device: str,
    exclusions: Exclusions,
    secret: bytes,
    record_sent: Callable[[str, int], None],
    is_relay: bool,
) -> Gossip:
    """`device`: its name at the platform."""
    desk = Desk(device=device, trusted=exclusions.trusted, secret=secret, exclusions=exclusions)
    reaching = Reaching(own=device, secret=secret, record_sent=record_sent, exclusions=exclusions)
    passing = PassingDesk(meetings=desk, reaching=reaching, record_sent=record_sent) if is_relay else None
    return Gossip(desk, reaching, passing)
