"""The parts of the agent that work between rounds needs."""

from typing import TYPE_CHECKING, NamedTuple

from coterie_agent.blobs import BlobCache
from coterie_agent.config import Config
from coterie_agent.link.http import HttpLink
from coterie_agent.peers.portion_handler import PortionHandler
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store

if TYPE_CHECKING:  # it loads asyncio
    from coterie_agent.direct.paths import DirectPaths


class PeersContext(NamedTuple):
    """The agent's parts, under their names in the agent."""

    config: Config
    store: Store
    blobs: BlobCache
    portions: BlobCache
    link: HttpLink
    situation: Situation
    paths: "DirectPaths | None" = None
    """Direct paths to other devices; None: only through the platform."""
    handler: PortionHandler | None = None
    """Serves its portions over direct paths."""
