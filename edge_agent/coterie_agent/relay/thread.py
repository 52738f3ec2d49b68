"""The thread of a supernode: follows the platform's directives, and computes and sends sums when requested."""

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
"""Tries of the supernode above before the sum goes to the platform."""
_PARTS_S = 0.2
"""Seconds between two checks for the sums of other supernodes."""
RouteKey = tuple[str, int]
"""A sum, and the epoch of its route; 0: to the platform."""


@dataclass(kw_only=True)
class RelayThread:
    """Carries out the supernode role of directives."""

    handler: RelayHandler
    link: HttpLink
    situation: Situation
    chunk_bytes: int
    record_sent: Callable[[str, int], None]
    book: AddressBook | None = None
    paths: "DirectPaths | None" = None
    """Direct paths to supernodes above that do not answer at their addresses."""
    _done: RouteKey | None = None
    """The sum that was sent last, or that cannot be sent."""
    _away: tuple[RouteKey, int] | None = None
    """A sum that the supernode above did not accept, and the number of failed tries."""
    _retrying: Retrying = field(init=False)

    def __post_init__(self) -> None:
        self._retrying = Retrying(link=self.link, situation=self.situation, longest_s=5.0)

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        while not (now := self.situation.now).stopping:
            lead = current_lead(now, self.handler.island)
            if not self._follow(lead) or lead is None or lead.order is None or _route_key(lead.order) == self._done:
                self.situation.wait(now.edition, None)
            elif self.handler.waits_for(lead.order):
                self.situation.wait(now.edition, _PARTS_S)
            else:
                self._attempt(lead.order)

    def _follow(self, lead: Lead | None) -> bool:
        try:
            self.handler.follow(lead)
        except WireError as error:
            log.error("cannot be a supernode of this round: %s [%s]", error.detail, error.code)
            return False
        return True

    def _attempt(self, order: Order) -> None:
        try:
            self._send(order)
            self._retrying.succeed()
        except (AgentError, WireError) as error:
            if not self._retrying.handles(error):
                # The platform receives no sum, and requests the updates from the neighbours themselves.
                log.error("the sum of %d updates is not sent: %s [%s]", len(order.shares), error.detail, error.code)
                self._done = _route_key(order)

    def _send(self, order: Order) -> None:
        payload = self.handler.sum(order)
        if order.route is not None and self._away != (_route_key(order), _TRIES):
            self._submit_sum(order, order.route, payload)
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
            self._done = _route_key(order)

    def _submit_sum(self, order: Order, route: SumRoute, payload: bytes) -> None:
        """Submit the sum to the supernode above, and its receipt to the platform.

        Raises Unreachable where either does not answer, or the supernode refuses; tries are limited.
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
            way = _route_key(order)
            tries = self._away[1] + 1 if self._away is not None and self._away[0] == way else 1
            self._away = (way, tries)
            raise Unreachable(error.detail) from error
        if receipt is not None:
            self.link.call(HandInSum(fold=order.fold, receipt=receipt), UploadState)
            log.info("handed a sum of %d updates and %d sums to a supernode", len(order.shares), len(order.parts))
            self._done = _route_key(order)


def _route_key(order: Order) -> RouteKey:
    return order.fold, 0 if order.route is None else order.route.epoch
