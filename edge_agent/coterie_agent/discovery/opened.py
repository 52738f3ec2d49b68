"""All of an agent's discovery, as its owner's settings have it."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from coterie_agent.config import DiscoverySettings
from coterie_agent.discovery.book import AddressBook, Door
from coterie_agent.discovery.enquiring import Enquirer
from coterie_agent.discovery.handler import DiscoveryHandler
from coterie_agent.discovery.local_network import LocalNetwork
from coterie_agent.discovery.seeking import RecordLink, SeekingThread
from coterie_agent.errors import AgentError, Exit
from coterie_agent.exclusions import Exclusions
from coterie_agent.situation import Situation
from coterie_agent.store.neighbours import NeighbourStore


@dataclass(frozen=True)
class Discovery:
    """What discovery needs of the agent."""

    book: AddressBook
    handler: DiscoveryHandler
    seeking: SeekingThread
    local_network: LocalNetwork | None


class CurrentAddresses:
    """The device's doors; without a network those that it had last."""

    def __init__(self, look: Callable[[], Mapping[Door, str]]) -> None:
        """Raises what `look` raises: AgentError ``relay.no_address`` where there is no network."""
        self._look, self._last = look, look()

    def __call__(self) -> Mapping[Door, str]:
        with suppress(AgentError):
            self._last = self._look()
        return self._last


def open_discovery(
    settings: DiscoverySettings,
    *,
    own: str,
    store: NeighbourStore,
    exclusions: Exclusions,
    secret: bytes,
    addresses: Callable[[], Mapping[Door, str]],
    link: RecordLink,
    situation: Situation,
    record_sent: Callable[[str, int], None],
) -> Discovery | None:
    """None: the owner wants none. `addresses`: of the device's doors, now. Raises AgentError ``discovery.no_door``."""
    if settings.mode == "off":
        return None
    if settings.mode == "announce" and not addresses():
        detail = 'nobody can call this device: in agent.toml take [gossip] meet or [relay] serve, or mode = "find"'
        raise AgentError("discovery.no_door", detail, exit_code=Exit.BAD_CONFIG)
    shown = addresses if settings.mode == "announce" else dict
    book = AddressBook(
        own=own,
        store=store,
        trusted=exclusions.trusted,
        exclusions=exclusions,
        secret=secret,
        addresses=shown,
        clock=time.time,
    )
    seeking = SeekingThread(book=book, enquirer=Enquirer(book, record_sent), link=link, situation=situation)
    network = None
    if settings.local_network:
        network = LocalNetwork(book, lambda: next(iter(shown().values()), None), record_sent)
        seeking.look_around = network.look_around
    return Discovery(book, DiscoveryHandler(book, record_sent), seeking, network)
