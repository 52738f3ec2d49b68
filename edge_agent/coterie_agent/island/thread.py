"""The threads of an island: one follows the connection to the platform, one runs timers, one calls each voter."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from coterie_agent.discovery.book import AddressBook, way_to
from coterie_agent.errors import AgentError
from coterie_agent.island.membership import MAX_PARCEL_BYTES, IslandMembership
from coterie_agent.link.neighbour import ask_neighbour
from coterie_agent.situation import Now, Situation
from coterie_agent.threads import start_guarded
from coterie_wire.errors import WireError
from coterie_wire.island import ISLAND_PATH
from coterie_wire.relaying import Lead, Peer

log = logging.getLogger(__name__)
SENT = "roles of an island"
_WITHIN_S = 3.0
"""Seconds for a parcel and its answer."""
_REPORT_S = 10.0
"""Seconds between two entries in the owner's list of what was sent; voters send five parcels a second."""
_PAUSE_S = 0.1
"""Seconds before a voter that does not answer is called again."""


def current_lead(now: Now, membership: IslandMembership | None) -> Lead | None:
    """The supernode role by the latest directive, or as stored where the agent has started without the platform."""
    if now.directive is not None:
        return now.directive.lead
    return None if membership is None else membership.stored_lead


@dataclass(kw_only=True)
class IslandThread:
    """Takes part in the island while the platform is unreachable."""

    membership: IslandMembership
    situation: Situation
    record_sent: Callable[[str, int], None]
    book: AddressBook | None = None
    _callers: dict[Peer, threading.Thread] = field(default_factory=dict)

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        start_guarded(
            "island-time", self._run_timer, is_stopping=lambda: self.situation.now.stopping, end=self.situation.end
        )
        while not (now := self.situation.now).stopping:
            try:
                self.membership.follow(current_lead(now, self.membership), is_cut_off=now.is_cut_off)
            except WireError as error:
                log.error("takes no part in an island: %s [%s]", error.detail, error.code)
            self.situation.wait(now.edition, None)
        self.membership.stop()

    def _run_timer(self) -> None:
        leader: str | None = None
        while not self.situation.now.stopping:
            self._call_others()
            status = self.membership.status()
            self.situation.set_island(status)
            if status is not None and status.leader not in (None, leader):
                log.info("the platform is away, and device %s leads this neighbourhood", status.leader)
            leader = None if status is None else status.leader or leader
            self.membership.tick()

    def _call_others(self) -> None:
        self._callers = {voter: thread for voter, thread in self._callers.items() if thread.is_alive()}
        for voter in self.membership.others():
            if voter not in self._callers:
                thread = threading.Thread(target=self._call, args=(voter,), name="island-caller", daemon=True)
                self._callers[voter] = thread
                thread.start()

    def _call(self, voter: Peer) -> None:
        """Send parcels to one voter while the device takes part in the island."""
        unreported_bytes, reported_at = 0, -float("inf")
        while (found := self.membership.parcel(voter)) is not None:
            parcel, body = found
            unreported_bytes += len(body)
            try:
                if time.monotonic() - reported_at >= _REPORT_S:
                    self.record_sent(SENT, unreported_bytes)
                    unreported_bytes, reported_at = 0, time.monotonic()
                self.membership.receive_answer(voter, parcel, self._ask(voter, body))
            except (AgentError, WireError) as error:
                log.debug("%s", error.detail)
                self.situation.wait_for_stop(_PAUSE_S)
        if unreported_bytes:
            self.record_sent(SENT, unreported_bytes)

    def _ask(self, voter: Peer, body: bytes) -> bytes:
        """Raises Unreachable."""
        with way_to(
            self.book, self.membership.exclusions, voter.device, voter.key, voter.address, "updates"
        ) as address:
            return ask_neighbour(address, ISLAND_PATH, body, at_most_bytes=MAX_PARCEL_BYTES, within_s=_WITHIN_S)
