"""What a device knows of others: records that were checked, who is excluded, and where the platform last said they are.

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
"""Kept at most, of less than 2 KiB each; of those that are neither in the table nor to be called the furthest go."""
MAX_NAMED = 256
TICK_S = 0.001
"""Between the dates of two records of one device at least."""
ANSWERED_REST_S, SILENT_REST_S = 600.0, 15.0
"""Before a device is asked again at the same address."""
Door = Literal["meetings", "updates"]
T = TypeVar("T")


class Named(NamedTuple):
    """A device where the platform, or the local network, says that it is: to be asked for its record."""

    key: bytes
    addresses: tuple[str, ...]
    """One of them, or several; not in the order in which they are tried."""
    found: Found


@dataclass(kw_only=True)
class AddressBook:
    """`own` is this device's name at the platform."""

    own: str
    store: NeighbourStore
    trusted: Callable[[], tuple[bytes, ...]]
    """The platform's keys."""
    exclusions: Exclusions
    secret: bytes
    addresses: Callable[[], Mapping[Door, str]]
    """Where the device answers now; empty: it is not to be found."""
    clock: Callable[[], float]
    """Seconds since 1970."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _records: dict[str, Located] = field(default_factory=dict)
    _ticket: Ticket | None = None
    _ticket_until: float = 0.0
    _own_record: SignedRecord | None = None
    _dated: float = 0.0
    """When the own record says that it was written."""
    _heard_dated: float = 0.0
    """The same of the newest of its own that others have shown it: from before a restart, perhaps."""
    _written: Mapping[Door, str] = field(default_factory=dict)
    _named: dict[bytes, Named] = field(default_factory=dict)
    """By key, those to be asked for their records."""
    _resting: dict[bytes, tuple[tuple[str, ...], float]] = field(default_factory=dict)
    """By key, where one was asked, and until when it is not asked there again."""
    _told: dict[bytes, str] = field(default_factory=dict)
    """By key, where the platform last said that a device is."""
    _nearby: dict[bytes, str] = field(default_factory=dict)
    """By key, the host under which a device has answered that the local network named."""
    _sought: dict[str, tuple[bytes, Door]] = field(default_factory=dict)
    """Devices that do not answer where they were."""
    _tried: dict[str, str] = field(default_factory=dict)
    """By device, the address at which it did not answer last."""
    news: Callable[[], None] = lambda: None
    """Called when there is somebody to ask or to look for."""

    def __post_init__(self) -> None:
        self.table: RoutingTable[Located] = RoutingTable(place_of(self.own))
        ticket = self.store.ticket()
        if ticket is not None:
            try:
                self._use(ticket)
            except WireError as error:  # a day has passed, or the platform's key has changed
                log.info("the ticket that was kept does not hold: %s", error.detail)
        for device, signed in list(self.store.records()):
            try:
                self._records[device] = self.check(signed)
            except WireError as error:
                log.info("a record that was kept is dropped: %s", error.detail)
                self.store.drop(device)
            else:
                self.table.heard_of(self._records[device])

    # The own side.

    def keep_ticket(self, given: PeerTicketGiven) -> None:
        """What the platform gave just now. Raises WireError ``bundle.*`` or ``discovery.*``."""
        ticket = Ticket(given, self.clock())
        with self._lock:
            self._use(ticket)
            self.forget_expired()
            self.store.keep_ticket(ticket)

    @property
    def asked_at(self) -> float:
        """When the platform gave the ticket, in seconds since 1970; 0: there is none."""
        return 0.0 if self._ticket is None else self._ticket.asked_at

    def ticket(self) -> SignedManifest | None:
        """The device's own, to be shown; None: it has none that holds."""
        with self._lock:
            if self._ticket is None or self._ticket_until < self.clock():
                return None
            return self._ticket.given.ticket

    def write(self) -> SignedRecord | None:
        """Write the own record anew; None where the device is not to be found, or has no ticket.

        Its date is later than that of each before, of which a clock that was ahead may have written some.
        """
        ticket, addresses = self.ticket(), self.addresses()
        if ticket is None or not addresses:
            return None
        now, self._written = self.clock(), addresses
        self._dated = max(now, self._dated + TICK_S, self._heard_dated + TICK_S)
        record = AddressRecord(
            device=self.own,
            written_at=self._dated,
            expires_at=now + LIFE_S,
            meetings=addresses.get("meetings"),
            updates=addresses.get("updates"),
        )
        self._own_record = write_record(record, ticket, self.secret)
        return self._own_record

    @property
    def record(self) -> SignedRecord | None:
        """The own one, as it was written last."""
        return self._own_record

    def has_moved(self) -> bool:
        """Whether the own record says another address than the device has now."""
        return self._own_record is not None and self.addresses() != self._written

    def is_outdated(self) -> bool:
        """Whether others have a record of this device that is dated later than the own, and therefore ignore that."""
        return self._own_record is not None and self._heard_dated > self._dated

    # Others.

    def admit(self, signed: SignedManifest) -> PeerTicket:
        """Who shows this ticket. Raises WireError ``bundle.*`` or ``discovery.*``."""
        return read_ticket(signed, *self.trusted(), excluded=self.exclusions.devices, now=self.clock())

    def check(self, signed: SignedRecord) -> Located:
        """A record as others have it; nothing is kept. Raises WireError ``bundle.*`` or ``discovery.*``."""
        return read_record(signed, *self.trusted(), excluded=self.exclusions.devices, now=self.clock())

    def take(self, signed: SignedRecord, found: Found) -> Located:
        """Check a record, and keep it where it is newer than what is known. Raises WireError as `check` does."""
        located = self.check(signed)
        with self._lock:
            known = self._records.get(located.device)
            if located.device == self.own:
                self._heard_dated = max(self._heard_dated, located.written_at)
                return located
            if known is not None and known.written_at >= located.written_at:
                return located
            self._records[located.device] = located
            self.table.heard_of(located)
            self._keep(located, "directory" if self._is_as_told(located) else found)
            self._make_room()
        return located

    def nearest(self, target: int) -> Sequence[Located]:
        """The nearest to `target` that are known, the nearest first; those in the table, and `target` itself."""
        with self._lock:
            near = list(self.table.nearest(target))
            itself = next((one for one in self._records.values() if one.place == target), None)
        return near if itself is None else [itself, *(one for one in near if one.place != target)][: max(1, len(near))]

    def known(self) -> Sequence[Located]:
        """All records."""
        with self._lock:
            return list(self._records.values())

    def knows_somebody(self) -> bool:
        """Whether anybody is in the table."""
        with self._lock:
            return len(self.table) > 0

    def to_refresh(self, rng: random.Random) -> Sequence[int]:
        """Places to look for, so that the table does not run dry."""
        with self._lock:
            return self.table.to_refresh(rng)

    def heard_from(self, located: Located) -> None:
        with self._lock:
            self.table.heard_from(self._records.get(located.device, located))

    def missed(self, located: Located) -> None:
        """It did not answer where its record says."""
        with self._lock:
            self.table.missed(located.place)

    def forget_expired(self) -> None:
        """Records that hold no more, or whose devices were excluded."""
        now, excluded = self.clock(), self.exclusions.devices
        with self._lock:
            ended = [one for one in self._records.values() if one.expires_at < now or one.device in excluded]
            self._forget(ended)

    # Where those are that the device wants to call.

    def name(self, found: Found, key: bytes, *addresses: str) -> None:
        """The device with this key may be at one of these; it is asked for its record."""
        named = Named(key, addresses, found)
        with self._lock:
            where, until = self._resting.get(key, ((), 0.0))
            if (where == addresses and self.clock() < until) or self._named.get(key) == named:
                return
            self._named[key] = named
            if len(self._named) > MAX_NAMED:
                del self._named[next(iter(self._named))]
        self.news()

    def _hear_directory(self, device: str, key: bytes, told: str) -> None:
        with self._lock:
            if self._told.get(key) != told:
                self._told[key] = told
                if len(self._told) > MAX_RECORDS:
                    del self._told[next(iter(self._told))]
                known = self._records.get(device)
                if known is not None and self._is_as_told(known):
                    self._keep(known, "directory")
        self.name("directory", key, told)

    def named(self) -> Sequence[Named]:
        """Those to be asked for their records."""
        with self._lock:
            return list(self._named.values())

    def was_asked(self, named: Named, *, answered_at: str | None) -> None:
        """It is not asked again at once; None: it has not answered."""
        with self._lock:
            if self._named.get(named.key) == named:
                del self._named[named.key]
            rests_s = SILENT_REST_S if answered_at is None else ANSWERED_REST_S
            _remember(self._resting, named.key, (named.addresses, self.clock() + rests_s))
            if answered_at is not None and named.found == "local network":
                _remember(self._nearby, named.key, answered_at.rpartition(":")[0])

    @contextmanager
    def way_to(self, device: str, key: bytes, told: str, door: Door) -> Iterator[str]:
        """Where `device` is to be called: where the platform `told`, or, if it does not answer there, by its record, or
        where it has answered on the local network.

        What raises Unreachable in the block has it looked for. Raises Unreachable where the platform has excluded it.
        """
        self.exclusions.check_may_call(device)
        self._hear_directory(device, key, told)
        address = self._address(device, key, told, door)
        try:
            yield address
        except Unreachable:
            with self._lock:
                self._tried[device] = address
                self._sought[device] = (key, door)
            self.news()
            raise
        with self._lock:
            self._sought.pop(device, None)

    def _address(self, device: str, key: bytes, told: str, door: Door) -> str:
        with self._lock:
            located = self._records.get(device)
            moved: str | None = None if located is None or located.key != key else getattr(located, door)
            ways = [told]
            if moved is not None:
                ways.append(moved)
                if key in self._nearby:
                    ways.append(f"{self._nearby[key]}:{moved.rpartition(':')[2]}")
            ways, tried = list(dict.fromkeys(ways)), self._tried.get(device)
            return ways[(ways.index(tried) + 1) % len(ways)] if tried in ways else told

    def sought(self) -> Sequence[str]:
        """Devices to look for."""
        with self._lock:
            return [device for device in self._sought if not self._is_elsewhere(device)]

    def is_answer(self, located: Located) -> bool:
        """Whether the record says where a device is that did not answer elsewhere."""
        with self._lock:
            wanted = self._sought.get(located.device)
            return wanted is not None and located.key == wanted[0] and self._leads_elsewhere(located, wanted[1])

    def _is_elsewhere(self, device: str) -> bool:
        located = self._records.get(device)
        return located is not None and self.is_answer(located)

    def _leads_elsewhere(self, located: Located, door: Door) -> bool:
        address: str | None = getattr(located, door)
        return address is not None and address != self._tried.get(located.device)

    def _use(self, ticket: Ticket) -> None:
        """Raises WireError ``bundle.*`` or ``discovery.*`` where it does not hold, or the list that came with it."""
        read = read_ticket(ticket.given.ticket, *self.trusted(), excluded=(), now=self.clock())
        self.exclusions.hear(ticket.given.excluded)
        self._ticket, self._ticket_until = ticket, read.expires_at

    def _is_as_told(self, located: Located) -> bool:
        told = self._told.get(located.key)
        return told is not None and told in (located.meetings, located.updates)

    def _keep(self, located: Located, found: Found) -> None:
        neighbour = Neighbour(located.device, found, located.meetings, located.updates, located.expires_at)
        self.store.keep(neighbour, located.signed)

    def _make_room(self) -> None:
        if len(self._records) <= MAX_RECORDS:
            return
        contacts = {one.place for one in self.table}

        def needless(located: Located) -> tuple[bool, bool, int]:
            """Those in the table lead to places far from the own one, and no others would."""
            is_to_be_called = located.device in self._sought or located.key in self._told
            return not is_to_be_called, located.place not in contacts, located.place ^ self.table.own

        self._forget([max(self._records.values(), key=needless)])

    def _forget(self, located: Iterable[Located]) -> None:
        for one in list(located):
            del self._records[one.device]
            self.table.drop(one.place)
            self.store.drop(one.device)


def _remember(kept: dict[bytes, T], key: bytes, value: T) -> None:
    """What is told of devices by keys that nobody has checked is bounded."""
    kept[key] = value
    if len(kept) > MAX_NAMED:
        del kept[next(iter(kept))]


def way_to(
    book: AddressBook | None, exclusions: Exclusions, device: str, key: bytes, told: str, door: Door
) -> AbstractContextManager[str]:
    """As `AddressBook.way_to`; without a book a device is where the platform `told`."""
    if book is not None:
        return book.way_to(device, key, told, door)
    exclusions.check_may_call(device)
    return nullcontext(told)
