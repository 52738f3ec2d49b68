"""The thread of a supernode: it follows what the platform says, and sums and sends when it is asked to."""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coterie_agent.discovery.book import AddressBook
from coterie_agent.errors import AgentError
from coterie_agent.island.thread import current_lead
from coterie_agent.link.failure import Refused, Unreachable
from coterie_agent.link.http import HttpLink
from coterie_agent.relay.handler import RelayHandler
from coterie_agent.retrying import Retrying
from coterie_agent.situation import Situation
from coterie_agent.supernode_upload import NeighbourRefused, SupernodeUpload
from coterie_agent.upload import UploadInParts
from coterie_wire.errors import WireError
from coterie_wire.messages import UploadState
from coterie_wire.relaying import HandInSum, Lead, OfferPartial, Order, SumRoute

if TYPE_CHECKING:  # it loads asyncio
    from coterie_agent.direct.paths import DirectPaths

log = logging.getLogger(__name__)
_TRIES = 6
"""How often the supernode above is tried before the sum goes to the platform."""
_PARTS_S = 0.2
"""Between two looks whether the sums of other supernodes have come."""
Way = tuple[str, int]
"""A sum, and the epoch of its way; 0: to the platform."""


@dataclass(kw_only=True)
class RelayThread:
    """Does what directives say of leading."""

    handler: RelayHandler
    link: HttpLink
    situation: Situation
    chunk_bytes: int
    record_sent: Callable[[str, int], None]
    book: AddressBook | None = None
    paths: "DirectPaths | None" = None
    """By which supernodes above are reached that do not answer at their addresses."""
    _done: Way | None = None
    """Of the sum that was sent last, or that cannot be."""
    _away: tuple[Way, int] | None = None
    """Of one that the supernode above did not take, and how often it has not."""
    _retrying: Retrying = field(init=False)

    def __post_init__(self) -> None:
        self._retrying = Retrying(link=self.link, situation=self.situation, longest_s=5.0)

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        while not (now := self.situation.now).stopping:
            lead = current_lead(now, self.handler.island)
            if not self._follow(lead) or lead is None or lead.order is None or _way(lead.order) == self._done:
                self.situation.wait(now.edition, None)
            elif self.handler.waits_for(lead.order):
                self.situation.wait(now.edition, _PARTS_S)
            else:
                self._attempt(lead.order)

    def _follow(self, lead: Lead | None) -> bool:
        try:
            self.handler.lead(lead)
        except WireError as error:
            log.error("cannot be a supernode of this round: %s [%s]", error.detail, error.code)
            return False
        return True

    def _attempt(self, order: Order) -> None:
        try:
            self._send(order)
            self._retrying.succeed()
        except (AgentError, WireError) as error:
            if not self._retrying.deals_with(error):
                # The platform does not hear of it, and has the neighbours send their updates themselves.
                log.error("the sum of %d updates is not sent: %s [%s]", len(order.shares), error.detail, error.code)
                self._done = _way(order)

    def _send(self, order: Order) -> None:
        payload = self.handler.sum(order)
        if order.route is not None and self._away != (_way(order), _TRIES):
            self._hand_over(order, order.route, payload)
            return
        offer = OfferPartial(fold=order.fold, sha256=hashlib.sha256(payload).hexdigest(), size_bytes=len(payload))
        outcome = UploadInParts(
            link=self.link,
            offer=offer,
            read=lambda offset, size: payload[offset : offset + size],
            chunk_bytes=self.chunk_bytes,
        ).run(stop=self.situation.is_offline)
        if isinstance(outcome, Refused):
            raise outcome
        if outcome == "accepted":
            log.info(
                "sent a sum of %d updates and %d sums, %d bytes", len(order.shares), len(order.parts), len(payload)
            )
            self._done = _way(order)

    def _hand_over(self, order: Order, route: SumRoute, payload: bytes) -> None:
        """Hand the sum to the supernode above, and its receipt to the platform.

        Raises Unreachable where either does not answer, or the supernode refuses; it is not tried for ever.
        """
        try:
            receipt = SupernodeUpload(
                route=route,
                what="sum to a supernode",
                sha256=hashlib.sha256(payload).hexdigest(),
                size_bytes=len(payload),
                read=lambda offset, size: payload[offset : offset + size],
                secret=self.handler.secret,
                chunk_bytes=self.chunk_bytes,
                record_sent=self.record_sent,
                exclusions=self.handler.exclusions,
                book=self.book,
                paths=self.paths,
            ).run(stop=self.situation.is_offline)
        except (Unreachable, NeighbourRefused) as error:
            way = _way(order)
            tries = self._away[1] + 1 if self._away is not None and self._away[0] == way else 1
            self._away = (way, tries)
            raise Unreachable(error.detail) from error
        if receipt is not None:
            self.link.call(HandInSum(fold=order.fold, receipt=receipt), UploadState)
            log.info("handed a sum of %d updates and %d sums to a supernode", len(order.shares), len(order.parts))
            self._done = _way(order)


def _way(order: Order) -> Way:
    return order.fold, 0 if order.route is None else order.route.epoch
