"""The thread that finds other devices, and publishes this device's address."""

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol

from coterie_agent.discovery.book import AddressBook, Named
from coterie_agent.discovery.enquiring import CheckedReply, Enquirer
from coterie_agent.discovery.lookup import PARALLEL, Lookup
from coterie_agent.errors import AgentError
from coterie_agent.link.failure import Unreachable
from coterie_agent.situation import Situation
from coterie_wire.discovery import AskPeerTicket, Located, PeerTicketGiven, place_of
from coterie_wire.errors import WireError
from coterie_wire.message import Message

log = logging.getLogger(__name__)
TICKET_S = 3600.0
"""Seconds after which a new ticket, with the current list of excluded devices, is requested."""
PUBLISH_S = 3600.0
"""Seconds between two publications of the own record, and between two refreshes of the table."""
ADDRESS_CHECK_S = 30.0
"""Seconds between two checks of the device's addresses."""
_RETRY_S = (2.0, 60.0)
"""Seconds between two tries: the first pause, and the longest."""


class RecordLink(Protocol):
    """The link to the platform."""

    def call(self, message: Message, reply: type[PeerTicketGiven]) -> PeerTicketGiven: ...


class Schedule:
    """When a repeated task is due: after its period, or sooner with growing pauses where it failed."""

    def __init__(self) -> None:
        self.at = 0.0
        self._pause_s = _RETRY_S[0]

    def done(self, *, now: float, again_s: float) -> None:
        self.at, self._pause_s = now + again_s, _RETRY_S[0]

    @property
    def has_failed(self) -> bool:
        """Whether the last run failed."""
        return self._pause_s > _RETRY_S[0]

    def failed(self, *, now: float) -> None:
        """Note a failure; the pause grows with each."""
        self.at = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, _RETRY_S[1])


@dataclass(kw_only=True)
class SeekingThread:
    """Keeps the ticket, the own record and the table up to date, and searches for devices that do not answer."""

    book: AddressBook
    enquirer: Enquirer
    link: RecordLink
    situation: Situation
    clock: Callable[[], float] = time.monotonic
    rng: random.Random = field(default_factory=random.SystemRandom)
    rescan: Callable[[], None] = lambda: None
    """Called regularly to detect a change of network."""
    _ticket: Schedule = field(default_factory=Schedule)
    _publish: Schedule = field(default_factory=Schedule)
    _address_check: Schedule = field(default_factory=Schedule)
    _refresh: Schedule = field(default_factory=Schedule)
    _sought: dict[str, Schedule] = field(default_factory=dict)
    _news: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.book.news = self._news.set
        asked_before_s = time.time() - self.book.ticket_at
        if 0 <= asked_before_s < TICKET_S:
            self._ticket.done(now=self.clock(), again_s=TICKET_S - asked_before_s)

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        while not self.situation.now.stopping:
            self._news.clear()
            if not self.situation.is_offline():
                self.step()
            self._wait()

    def step(self) -> None:
        """Do all that is due now."""
        now = self.clock()
        self.book.delete_expired()
        if self._ticket.at <= now:
            self._renew_ticket()
        if self.book.ticket() is None:
            return
        if self.book.record is None:
            self.book.write()
        if self._address_check.at <= now:
            self._check_addresses()
        for named in self.book.named():
            self._ask(named)
        if self._publish.at <= now:
            self._publish_record()
        if self._refresh.at <= now and self.book.has_contacts():
            self._refresh_table()
        for device in self.book.sought():
            due = self._sought.setdefault(device, Schedule())
            if due.at <= now:
                self._search(device, due)

    def look_up(self, target: int, *, is_target: Callable[[Located], bool] | None = None) -> Lookup[Located]:
        """Run a look-up to its end; at most `PARALLEL` devices are asked at the same time."""
        start = self.book.nearest(target) or sorted(self.book.records(), key=lambda one: one.place ^ target)
        lookup = Lookup(target, start, own=self.book.table.own, is_target=is_target)
        open_: dict[Future[CheckedReply], Located] = {}
        with ThreadPoolExecutor(PARALLEL, thread_name_prefix="look-up") as pool:
            while not self.situation.now.stopping:
                for contact in lookup.next():
                    open_[pool.submit(self.enquirer.ask, contact.key, contact.address, target)] = contact
                if not open_:
                    break
                for future in wait(open_, return_when=FIRST_COMPLETED).done:
                    self._handle_reply(lookup, open_.pop(future), future)
        return lookup

    def _handle_reply(self, lookup: Lookup[Located], contact: Located, future: Future[CheckedReply]) -> None:
        try:
            reply = future.result()
        except Unreachable as error:
            log.debug("%s", error.detail)
            self.book.missed(contact)
            lookup.failed(contact)
        else:
            lookup.answered(contact, reply.near if reply.itself is None else (reply.itself, *reply.near))

    def _renew_ticket(self) -> None:
        try:
            self.book.keep_ticket(self.link.call(AskPeerTicket(), PeerTicketGiven))
        except (AgentError, WireError) as error:
            level = logging.DEBUG if self._ticket.has_failed else logging.INFO  # once while the platform is unreachable
            log.log(level, "no ticket for other devices now: %s [%s]", error.detail, error.code)
            self._ticket.failed(now=self.clock())
            return
        self._ticket.done(now=self.clock(), again_s=self.rng.uniform(0.8, 1.0) * TICKET_S)
        self.book.write()  # with the new ticket

    def _check_addresses(self) -> None:
        """Publish the record again if the device's address has changed, or others hold a later-dated record of it."""
        self.rescan()
        if self.book.has_moved():
            log.info("the device is at another address now, and tells others")
            self._publish.at = self.clock()
        if self.book.is_outdated():
            log.info("a clock was ahead when the device last told others where it is; it tells them again")
            self._publish.at = self.clock()
        self._address_check.done(now=self.clock(), again_s=ADDRESS_CHECK_S)

    def _ask(self, named: Named) -> None:
        """Ask a named device for its record; it receives this device's record, too."""
        try:
            reply, address = self.enquirer.ask_first(named, self.book.table.own)
        except Unreachable as error:
            log.debug("%s", error.detail)
            self.book.note_asked(named, answered_at=None)
            return
        self.book.note_asked(named, answered_at=address)
        if reply.itself is not None:
            log.info("found device %s: %s", reply.itself.device, named.found)

    def _publish_record(self) -> None:
        """Look up the own place: every device asked stores the own record, those nearest to it included."""
        record = self.book.write()
        if record is None:
            self._publish.done(now=self.clock(), again_s=PUBLISH_S)
            return
        if self.look_up(self.book.table.own).nearest:
            self._publish.done(now=self.clock(), again_s=self.rng.uniform(0.8, 1.0) * PUBLISH_S)
        else:
            self._publish.failed(now=self.clock())

    def _refresh_table(self) -> None:
        for place in self.book.to_refresh(self.rng):
            self.look_up(place)
        self._refresh.done(now=self.clock(), again_s=self.rng.uniform(0.8, 1.0) * PUBLISH_S)

    def _search(self, device: str, due: Schedule) -> None:
        found = self.look_up(place_of(device), is_target=self.book.is_answer).found
        if found is None:
            due.failed(now=self.clock())
        else:
            log.info("device %s is at another address: found in the table", device)
            del self._sought[device]

    def _wait(self) -> None:
        dues: Sequence[float] = [self._ticket.at, self._publish.at]
        if self.book.has_contacts():
            dues = [*dues, self._refresh.at]
        dues = [*dues, *(self._sought[device].at for device in self.book.sought() if device in self._sought)]
        self._news.wait(min(1.0, max(0.2, min(dues) - self.clock())))  # at most a second, to check for the stop
