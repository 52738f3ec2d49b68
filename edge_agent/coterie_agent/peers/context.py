"""What a device's part between rounds works with."""

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
    """What the agent has, by the names of its own."""

    config: Config
    store: Store
    blobs: BlobCache
    portions: BlobCache
    link: HttpLink
    situation: Situation
    paths: "DirectPaths | None" = None
    """By which it reaches other devices; None: through the platform alone."""
    handler: PortionHandler | None = None
    """Where others fetch its portions by such paths."""
