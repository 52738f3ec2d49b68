"""The thread that finds others, and lets them find this device."""

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
from coterie_agent.discovery.lookup import AT_ONCE, Lookup
from coterie_agent.errors import AgentError
from coterie_agent.link.failure import Unreachable
from coterie_agent.situation import Situation
from coterie_wire.discovery import AskPeerTicket, Located, PeerTicketGiven, place_of
from coterie_wire.errors import WireError
from coterie_wire.message import Message

log = logging.getLogger(__name__)
TICKET_S = 3600.0
"""After so long the platform is asked for another, and hears of devices that are excluded since."""
PUBLISH_S = 3600.0
"""Between two tellings of the own record, and two refreshings of the table."""
LOOK_S = 30.0
"""Between two looks whether the device has another address."""
_RETRY_S = (2.0, 60.0)
"""Between two tries: the first, and the longest."""


class RecordLink(Protocol):
    """The way to the platform."""

    def call(self, message: Message, reply: type[PeerTicketGiven]) -> PeerTicketGiven: ...


class Due:
    """Something that is done again and again: after a while, or soon where it failed."""

    def __init__(self) -> None:
        self.at = 0.0
        self._pause_s = _RETRY_S[0]

    def done(self, *, now: float, again_s: float) -> None:
        self.at, self._pause_s = now + again_s, _RETRY_S[0]

    @property
    def has_failed(self) -> bool:
        """Whether it did the last time."""
        return self._pause_s > _RETRY_S[0]

    def failed(self, *, now: float) -> None:
        """Later each time."""
        self.at = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, _RETRY_S[1])


@dataclass(kw_only=True)
class SeekingThread:
    """Keeps the ticket, the own record and the table up to date, and looks for whoever does not answer."""

    book: AddressBook
    enquirer: Enquirer
    link: RecordLink
    situation: Situation
    clock: Callable[[], float] = time.monotonic
    rng: random.Random = field(default_factory=random.SystemRandom)
    look_around: Callable[[], None] = lambda: None
    """Called now and then, to see whether the device is in another network."""
    _ticket: Due = field(default_factory=Due)
    _publish: Due = field(default_factory=Due)
    _look: Due = field(default_factory=Due)
    _refresh: Due = field(default_factory=Due)
    _sought: dict[str, Due] = field(default_factory=dict)
    _news: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.book.news = self._news.set
        asked_before_s = time.time() - self.book.asked_at
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
        """All that is due now."""
        now = self.clock()
        self.book.forget_expired()
        if self._ticket.at <= now:
            self._renew_ticket()
        if self.book.ticket() is None:
            return
        if self.book.record is None:
            self.book.write()
        if self._look.at <= now:
            self._look_where()
        for named in self.book.named():
            self._ask(named)
        if self._publish.at <= now:
            self._tell_neighbours()
        if self._refresh.at <= now and self.book.knows_somebody():
            self._refresh_table()
        for device in self.book.sought():
            due = self._sought.setdefault(device, Due())
            if due.at <= now:
                self._seek(device, due)

    def look_up(self, target: int, *, wanted: Callable[[Located], bool] | None = None) -> Lookup[Located]:
        """A look-up, to its end; at most `AT_ONCE` devices are asked at the same time."""
        start = self.book.nearest(target) or sorted(self.book.known(), key=lambda one: one.place ^ target)
        lookup = Lookup(target, start, own=self.book.table.own, wanted=wanted)
        open_: dict[Future[CheckedReply], Located] = {}
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="look-up") as pool:
            while not self.situation.now.stopping:
                for contact in lookup.next():
                    open_[pool.submit(self.enquirer.ask, contact.key, contact.address, target)] = contact
                if not open_:
                    break
                for future in wait(open_, return_when=FIRST_COMPLETED).done:
                    self._hear(lookup, open_.pop(future), future)
        return lookup

    def _hear(self, lookup: Lookup[Located], contact: Located, future: Future[CheckedReply]) -> None:
        try:
            told = future.result()
        except Unreachable as error:
            log.debug("%s", error.detail)
            self.book.missed(contact)
            lookup.failed(contact)
        else:
            lookup.answered(contact, told.near if told.itself is None else (told.itself, *told.near))

    def _renew_ticket(self) -> None:
        try:
            self.book.keep_ticket(self.link.call(AskPeerTicket(), PeerTicketGiven))
        except (AgentError, WireError) as error:
            level = logging.DEBUG if self._ticket.has_failed else logging.INFO  # once for an absence of the platform
            log.log(level, "no ticket for other devices now: %s [%s]", error.detail, error.code)
            self._ticket.failed(now=self.clock())
            return
        self._ticket.done(now=self.clock(), again_s=self.rng.uniform(0.8, 1.0) * TICKET_S)
        self.book.write()  # with the new ticket

    def _look_where(self) -> None:
        """A network may have given the device another address, and others may hold a later record of it."""
        self.look_around()
        if self.book.has_moved():
            log.info("the device is at another address now, and tells others")
            self._publish.at = self.clock()
        if self.book.is_outdated():
            log.info("a clock was ahead when the device last told others where it is; it tells them again")
            self._publish.at = self.clock()
        self._look.done(now=self.clock(), again_s=LOOK_S)

    def _ask(self, named: Named) -> None:
        """Ask a device where the platform, or the local network, says that it is; it hears of this one, too."""
        try:
            told, address = self.enquirer.ask_first(named, self.book.table.own)
        except Unreachable as error:
            log.debug("%s", error.detail)
            self.book.was_asked(named, answered_at=None)
            return
        self.book.was_asked(named, answered_at=address)
        if told.itself is not None:
            log.info("found device %s: %s", told.itself.device, named.found)

    def _tell_neighbours(self) -> None:
        """Look for the own place: whoever is asked keeps the record, those nearest to it among them."""
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

    def _seek(self, device: str, due: Due) -> None:
        found = self.look_up(place_of(device), wanted=self.book.is_answer).found
        if found is None:
            due.failed(now=self.clock())
        else:
            log.info("device %s is at another address: found in the table", device)
            del self._sought[device]

    def _wait(self) -> None:
        dues: Sequence[float] = [self._ticket.at, self._publish.at]
        if self.book.knows_somebody():
            dues = [*dues, self._refresh.at]
        dues = [*dues, *(self._sought[device].at for device in self.book.sought() if device in self._sought)]
        self._news.wait(min(1.0, max(0.2, min(dues) - self.clock())))  # a second: whether to stop
