"""The addresses of other devices: verified records, and the addresses that the platform last gave.

Safe to use from several threads.
"""

import logging
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

from coterie_agent.discovery.table import RoutingTable
from coterie_agent.exclusions import Exclusions
from coterie_agent.link.failure import Unreachable
from coterie_agent.store.neighbours import Found, Neighbour, NeighbourStore, Ticket
from coterie_wire.bundle import SignedManifest
from coterie_wire.discovery import (
    LIFE_S,
    AddressRecord,
    Located,
    PeerTicket,
    PeerTicketGiven,
    SignedRecord,
    place_of,
    read_record,
    read_ticket,
    write_record,
)
from coterie_wire.errors import WireError

log = logging.getLogger(__name__)
MAX_RECORDS = 1024
"""Records stored, of less than 2 KiB each; beyond it the furthest that are not needed are removed."""
MAX_NAMED = 256
TICK_S = 0.001
"""Least seconds between the dates of two records of one device."""
ANSWERED_REST_S, SILENT_REST_S = 600.0, 15.0
"""Seconds before a device is asked again at the same addresses, after an answer and without one."""
PeerService = Literal["meetings", "updates"]
T = TypeVar("T")


class Named(NamedTuple):
    """A device named by the platform or the local network, to be asked for its record."""

    key: bytes
    addresses: tuple[str, ...]
    """One address or more; not in the order in which they are tried."""
    found: Found


@dataclass(kw_only=True)
class AddressBook:
    """The address book; `own` is this device's name on the platform."""

    own: str
    store: NeighbourStore
    trusted: Callable[[], tuple[bytes, ...]]
    """The platform's keys."""
    exclusions: Exclusions
    secret: bytes
    addresses: Callable[[], Mapping[PeerService, str]]
    """The device's current addresses, by service; empty: it is not to be found by others."""
    clock: Callable[[], float]
    """Seconds since 1970."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _records: dict[str, Located] = field(default_factory=dict)
    _ticket: Ticket | None = None
    _ticket_until: float = 0.0
    _own_record: SignedRecord | None = None
    _written_at: float = 0.0
    """Date of the own record."""
    _received_dated: float = 0.0
    """Date of the newest own record received from others, which may be from before a restart."""
    _written_addresses: Mapping[PeerService, str] = field(default_factory=dict)
    _named: dict[bytes, Named] = field(default_factory=dict)
    """By key, devices to be asked for their records."""
    _resting: dict[bytes, tuple[tuple[str, ...], float]] = field(default_factory=dict)
    """By key, the addresses at which a device was asked, and the time until which it is not asked there again."""
    _platform_addresses: dict[bytes, str] = field(default_factory=dict)
    """By key, the address of a device that the platform last gave."""
    _nearby: dict[bytes, str] = field(default_factory=dict)
    """By key, the host at which a device found on the local network has answered."""
    _sought: dict[str, tuple[bytes, PeerService]] = field(default_factory=dict)
    """Devices that do not answer at their known address."""
    _tried: dict[str, str] = field(default_factory=dict)
    """By device, the address at which it last did not answer."""
    news: Callable[[], None] = lambda: None
    """Called when there is a device to ask or to search for."""

    def __post_init__(self) -> None:
        self.table: RoutingTable[Located] = RoutingTable(place_of(self.own))
        ticket = self.store.ticket()
        if ticket is not None:
            try:
                self._use(ticket)
            except WireError as error:  # it has expired, or the platform's key has changed
                log.info("the ticket that was kept does not hold: %s", error.detail)
        for device, signed in list(self.store.records()):
            try:
                self._records[device] = self.check(signed)
            except WireError as error:
                log.info("a record that was kept is dropped: %s", error.detail)
                self.store.drop(device)
            else:
                self.table.add(self._records[device])

    # This device.

    def keep_ticket(self, given: PeerTicketGiven) -> None:
        """Use and store a ticket just received from the platform. Raises WireError ``bundle.*`` or ``discovery.*``."""
        ticket = Ticket(given, self.clock())
        with self._lock:
            self._use(ticket)
            self.delete_expired()
            self.store.keep_ticket(ticket)

    @property
    def ticket_at(self) -> float:
        """When the ticket was received, in seconds since 1970; 0: there is none."""
        return 0.0 if self._ticket is None else self._ticket.asked_at

    def ticket(self) -> SignedManifest | None:
        """The device's own ticket; None: it has no valid one."""
        with self._lock:
            if self._ticket is None or self._ticket_until < self.clock():
                return None
            return self._ticket.given.ticket

    def write(self) -> SignedRecord | None:
        """Write a new own record; None where the device is not to be found by others, or has no ticket.

        Its date is later than those of all earlier ones, some of which a fast clock may have dated ahead.
        """
        ticket, addresses = self.ticket(), self.addresses()
        if ticket is None or not addresses:
            return None
        now, self._written_addresses = self.clock(), addresses
        self._written_at = max(now, self._written_at + TICK_S, self._received_dated + TICK_S)
        record = AddressRecord(
            device=self.own,
            written_at=self._written_at,
            expires_at=now + LIFE_S,
            meetings=addresses.get("meetings"),
            updates=addresses.get("updates"),
        )
        self._own_record = write_record(record, ticket, self.secret)
        return self._own_record

    @property
    def record(self) -> SignedRecord | None:
        """The own record, as last written."""
        return self._own_record

    def has_moved(self) -> bool:
        """Whether the device's addresses differ from those in its own record."""
        return self._own_record is not None and self.addresses() != self._written_addresses

    def is_outdated(self) -> bool:
        """Whether others have a later-dated record of this device, and therefore ignore the own one."""
        return self._own_record is not None and self._received_dated > self._written_at

    # Other devices.

    def admit(self, signed: SignedManifest) -> PeerTicket:
        """The verified ticket of a caller. Raises WireError ``bundle.*`` or ``discovery.*``."""
        return read_ticket(signed, *self.trusted(), excluded=self.exclusions.devices, now=self.clock())

    def check(self, signed: SignedRecord) -> Located:
        """The verified content of a record, which is not stored. Raises WireError ``bundle.*`` or ``discovery.*``."""
        return read_record(signed, *self.trusted(), excluded=self.exclusions.devices, now=self.clock())

    def take(self, signed: SignedRecord, found: Found) -> Located:
        """Verify a record, and store it if it is newer than the known one. Raises WireError as `check` does."""
        located = self.check(signed)
        with self._lock:
            known = self._records.get(located.device)
            if located.device == self.own:
                self._received_dated = max(self._received_dated, located.written_at)
                return located
            if known is not None and known.written_at >= located.written_at:
                return located
            self._records[located.device] = located
            self.table.add(located)
            self._keep(located, "directory" if self._matches_directory(located) else found)
            self._make_room()
        return located

    def nearest(self, target: int) -> Sequence[Located]:
        """Known devices nearest to `target`, nearest first: those in the table, and `target` itself."""
        with self._lock:
            near = list(self.table.nearest(target))
            itself = next((one for one in self._records.values() if one.place == target), None)
        return near if itself is None else [itself, *(one for one in near if one.place != target)][: max(1, len(near))]

    def records(self) -> Sequence[Located]:
        """All records."""
        with self._lock:
            return list(self._records.values())

    def has_contacts(self) -> bool:
        """Whether any device is in the table."""
        with self._lock:
            return len(self.table) > 0

    def to_refresh(self, rng: random.Random) -> Sequence[int]:
        """Places to look up, so that the table stays filled."""
        with self._lock:
            return self.table.to_refresh(rng)

    def mark_alive(self, located: Located) -> None:
        with self._lock:
            self.table.mark_alive(self._records.get(located.device, located))

    def missed(self, located: Located) -> None:
        """Note that it did not answer at the address of its record."""
        with self._lock:
            self.table.missed(located.place)

    def delete_expired(self) -> None:
        """Delete records that have expired, or whose devices were excluded."""
        now, excluded = self.clock(), self.exclusions.devices
        with self._lock:
            ended = [one for one in self._records.values() if one.expires_at < now or one.device in excluded]
            self._delete(ended)

    # Addresses of devices to call.

    def name(self, found: Found, key: bytes, *addresses: str) -> None:
        """Note that the device with this key may be at one of `addresses`, to be asked for its record."""
        named = Named(key, addresses, found)
        with self._lock:
            where, until = self._resting.get(key, ((), 0.0))
            if (where == addresses and self.clock() < until) or self._named.get(key) == named:
                return
            self._named[key] = named
            if len(self._named) > MAX_NAMED:
                del self._named[next(iter(self._named))]
        self.news()

    def _note_directory(self, device: str, key: bytes, address_given: str) -> None:
        with self._lock:
            if self._platform_addresses.get(key) != address_given:
                self._platform_addresses[key] = address_given
                if len(self._platform_addresses) > MAX_RECORDS:
                    del self._platform_addresses[next(iter(self._platform_addresses))]
                known = self._records.get(device)
                if known is not None and self._matches_directory(known):
                    self._keep(known, "directory")
        self.name("directory", key, address_given)

    def named(self) -> Sequence[Named]:
        """Devices to be asked for their records."""
        with self._lock:
            return list(self._named.values())

    def note_asked(self, named: Named, *, answered_at: str | None) -> None:
        """Note that a device was asked, so that it is not asked again soon; `answered_at` None: it did not answer."""
        with self._lock:
            if self._named.get(named.key) == named:
                del self._named[named.key]
            rests_s = SILENT_REST_S if answered_at is None else ANSWERED_REST_S
            _remember(self._resting, named.key, (named.addresses, self.clock() + rests_s))
            if answered_at is not None and named.found == "local network":
                _remember(self._nearby, named.key, answered_at.rpartition(":")[0])

    @contextmanager
    def way_to(self, device: str, key: bytes, address_given: str, service: PeerService) -> Iterator[str]:
        """The address at which to call `device`: `address_given` by the platform, or else that of its record or of the
        local network.

        If the block raises Unreachable, the device is searched for. Raises Unreachable where the platform has
        excluded it.
        """
        self.exclusions.check_may_call(device)
        self._note_directory(device, key, address_given)
        address = self._address(device, key, address_given, service)
        try:
            yield address
        except Unreachable:
            with self._lock:
                self._tried[device] = address
                self._sought[device] = (key, service)
            self.news()
            raise
        with self._lock:
            self._sought.pop(device, None)

    def _address(self, device: str, key: bytes, address_given: str, service: PeerService) -> str:
        with self._lock:
            located = self._records.get(device)
            moved: str | None = None if located is None or located.key != key else getattr(located, service)
            ways = [address_given]
            if moved is not None:
                ways.append(moved)
                if key in self._nearby:
                    ways.append(f"{self._nearby[key]}:{moved.rpartition(':')[2]}")
            ways, tried = list(dict.fromkeys(ways)), self._tried.get(device)
            return ways[(ways.index(tried) + 1) % len(ways)] if tried in ways else address_given

    def sought(self) -> Sequence[str]:
        """Devices to search for."""
        with self._lock:
            return [device for device in self._sought if not self._is_found(device)]

    def is_answer(self, located: Located) -> bool:
        """Whether the record gives a new address of a device that is searched for."""
        with self._lock:
            sought = self._sought.get(located.device)
            return sought is not None and located.key == sought[0] and self._has_other_address(located, sought[1])

    def _is_found(self, device: str) -> bool:
        located = self._records.get(device)
        return located is not None and self.is_answer(located)

    def _has_other_address(self, located: Located, service: PeerService) -> bool:
        address: str | None = getattr(located, service)
        return address is not None and address != self._tried.get(located.device)

    def _use(self, ticket: Ticket) -> None:
        """Raises WireError ``bundle.*`` or ``discovery.*`` where the ticket, or the list with it, is not valid."""
        read = read_ticket(ticket.given.ticket, *self.trusted(), excluded=(), now=self.clock())
        self.exclusions.receive(ticket.given.excluded)
        self._ticket, self._ticket_until = ticket, read.expires_at

    def _matches_directory(self, located: Located) -> bool:
        address_given = self._platform_addresses.get(located.key)
        return address_given is not None and address_given in (located.meetings, located.updates)

    def _keep(self, located: Located, found: Found) -> None:
        neighbour = Neighbour(located.device, found, located.meetings, located.updates, located.expires_at)
        self.store.keep(neighbour, located.signed)

    def _make_room(self) -> None:
        if len(self._records) <= MAX_RECORDS:
            return
        contacts = {one.place for one in self.table}

        def removal_priority(located: Located) -> tuple[bool, bool, int]:
            """Records in the table are kept, as only they lead to places far from the own one."""
            is_to_be_called = located.device in self._sought or located.key in self._platform_addresses
            return not is_to_be_called, located.place not in contacts, located.place ^ self.table.own

        self._delete([max(self._records.values(), key=removal_priority)])

    def _delete(self, located: Iterable[Located]) -> None:
        for one in list(located):
            del self._records[one.device]
            self.table.drop(one.place)
            self.store.drop(one.device)


def _remember(kept: dict[bytes, T], key: bytes, value: T) -> None:
    """What is address_given of devices by keys that nobody has checked is bounded."""
    kept[key] = value
    if len(kept) > MAX_NAMED:
        del kept[next(iter(kept))]


def way_to(
    book: AddressBook | None, exclusions: Exclusions, device: str, key: bytes, address_given: str, service: PeerService
) -> AbstractContextManager[str]:
    """As `AddressBook.way_to`; without a book, always `address_given`."""
    if book is not None:
        return book.way_to(device, key, address_given, service)
    exclusions.check_may_call(device)
    return nullcontext(address_given)
