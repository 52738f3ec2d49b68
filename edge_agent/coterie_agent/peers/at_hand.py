"""What a device's part between rounds works with."""

from typing import NamedTuple

from coterie_agent.blobs import BlobCache
from coterie_agent.config import Config
from coterie_agent.link.http import HttpLink
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store


class AtHand(NamedTuple):
    """What the agent has, by the names of its own."""

    config: Config
    store: Store
    blobs: BlobCache
    portions: BlobCache
    link: HttpLink
    situation: Situation
