"""Creates the agent's discovery from the owner's settings."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from coterie_agent.config import DiscoverySettings
from coterie_agent.discovery.book import AddressBook, PeerService
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
    """The parts of discovery."""

    book: AddressBook
    handler: DiscoveryHandler
    seeking: SeekingThread
    local_network: LocalNetwork | None


class CurrentAddresses:
    """The device's current addresses by service; without a network, the last known ones."""

    def __init__(self, read: Callable[[], Mapping[PeerService, str]]) -> None:
        """`read` reads the addresses. Raises what it raises: AgentError ``relay.no_address`` without a network."""
        self._read, self._last = read, read()

    def __call__(self) -> Mapping[PeerService, str]:
        with suppress(AgentError):
            self._last = self._read()
        return self._last


def open_discovery(
    settings: DiscoverySettings,
    *,
    own: str,
    store: NeighbourStore,
    exclusions: Exclusions,
    secret: bytes,
    addresses: Callable[[], Mapping[PeerService, str]],
    link: RecordLink,
    situation: Situation,
    record_sent: Callable[[str, int], None],
) -> Discovery | None:
    """The discovery; None: off. `addresses`: the device's current ones. Raises AgentError ``discovery.no_door``."""
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
        seeking.rescan = network.rescan
    return Discovery(book, DiscoveryHandler(book, record_sent), seeking, network)
