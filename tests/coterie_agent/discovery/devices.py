"""Devices on loopback: each has a door, a book of addresses, and the thread's steps, without a platform."""

import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from coterie_agent.discovery.book import AddressBook
from coterie_agent.discovery.enquiring import Enquirer
from coterie_agent.discovery.handler import DiscoveryHandler
from coterie_agent.discovery.seeking import SeekingThread
from coterie_agent.exclusions import Exclusions
from coterie_agent.link.failure import Unreachable
from coterie_agent.peer_server import PeerServer
from coterie_agent.situation import Situation
from coterie_agent.store.database import Database
from coterie_agent.store.neighbours import NeighbourStore
from coterie_wire.bundle import SignedManifest, new_signing_key, sign_content, verify_key_of
from coterie_wire.conditions import Conditions
from coterie_wire.discovery import LIFE_S, RECORDS_PATH, AskPeerTicket, PeerTicket, PeerTicketGiven
from coterie_wire.exclusion import Excluded
from coterie_wire.message import Message
from coterie_wire.relaying import public_key
from coterie_wire.version import PROTOCOL

NOW = 1e9
PLATFORM = new_signing_key()


def ticket(device: str, key: bytes, *, expires_at: float = NOW + LIFE_S, by: bytes = PLATFORM) -> SignedManifest:
    """As the platform signs it."""
    return sign_content(msgspec.json.encode(PeerTicket(PROTOCOL, device, key, expires_at)), by)


def excluded(*devices: str, at: float = NOW) -> SignedManifest:
    return sign_content(msgspec.json.encode(Excluded(PROTOCOL, devices, at)), PLATFORM)


def secret_of(name: str) -> bytes:
    return name.encode().ljust(32, b".")


class Platform:
    """Gives tickets, unless it is away."""

    is_away = False

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self._name, self._clock = name, clock
        self.excludes: tuple[str, ...] = ()

    def call(self, message: Message, _reply: type[PeerTicketGiven]) -> PeerTicketGiven:
        assert isinstance(message, AskPeerTicket)
        if self.is_away:
            raise Unreachable("the platform is away")
        key, now = public_key(secret_of(self._name)), self._clock()
        return PeerTicketGiven(ticket(self._name, key, expires_at=now + LIFE_S), excluded(*self.excludes, at=now))


class Device:
    """One, at a free port; its store is that of `folder`."""

    def __init__(self, name: str, folder: Path, *, announces: bool = True) -> None:
        self.name, self.now, self.sent = name, NOW, dict[str, int]()
        self.ahead_s = 0.0
        """By how much its clock is wrong."""
        self.moved_to = ""
        """The address that it says instead of its own."""
        self.database = Database(folder / f"{name}.sqlite3")
        self.book = AddressBook(
            own=name,
            store=NeighbourStore(self.database),
            trusted=lambda: (verify_key_of(PLATFORM),),
            exclusions=Exclusions(lambda: (verify_key_of(PLATFORM),)),
            secret=secret_of(name),
            addresses=dict,
            clock=lambda: self.now + self.ahead_s,
        )
        self.door = PeerServer(0, DiscoveryHandler(self.book, self.record_sent), path=RECORDS_PATH)
        if announces:
            self.book.addresses = lambda: {"meetings": self.moved_to or self.address}
        self.situation = Situation()
        self.situation.set_conditions(Conditions(), ())
        self.platform = Platform(name, lambda: self.now)
        self.enquirer = Enquirer(self.book, self.record_sent)
        self.seeking = SeekingThread(
            book=self.book,
            enquirer=self.enquirer,
            link=self.platform,
            situation=self.situation,
            clock=lambda: self.now,
        )
        threading.Thread(target=self.door.run, daemon=True).start()

    @property
    def key(self) -> bytes:
        return public_key(secret_of(self.name))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.door.server_port}"

    def close(self) -> None:
        """As if its battery were flat."""
        self.door.shutdown()
        self.door.server_close()
        self.database.close()

    def call(self, other: str, key: bytes, told: str) -> str:
        """The address at which another's door answers, if it has moved from `told`. Raises Unreachable."""
        with self.book.way_to(other, key, told, "meetings") as address:
            self.enquirer.ask(key, address, self.book.table.own)
            return address

    def record_sent(self, what: str, size_bytes: int) -> None:
        self.sent[what] = self.sent.get(what, 0) + size_bytes
