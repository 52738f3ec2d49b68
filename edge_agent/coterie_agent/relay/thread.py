"""The thread of a supernode: it follows what the platform says, and sums and sends when it is asked to."""

import hashlib
import logging
from dataclasses import dataclass, field

from coterie_agent.errors import AgentError
from coterie_agent.link.failure import Refused, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.relay.desk import Desk
from coterie_agent.retrying import Retrying
from coterie_agent.situation import Situation
from coterie_agent.upload import Delivery
from coterie_wire.errors import WireError
from coterie_wire.relaying import Lead, OfferPartial, Order

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class RelayThread:
    """Does what directives say of leading."""

    desk: Desk
    link: HttpLink
    situation: Situation
    chunk_bytes: int
    _done: str | None = None
    """The sum that was sent last, or that cannot be."""
    _retrying: Retrying = field(init=False)

    def __post_init__(self) -> None:
        self._retrying = Retrying(link=self.link, situation=self.situation, longest_s=5.0)

    def run(self) -> None:
        """Run until the situation's `stop` is set."""
        while not (now := self.situation.now).stopping:
            lead = now.directive.lead if now.directive else None
            if not self._follow(lead) or lead is None or lead.order is None or lead.order.fold == self._done:
                self.situation.wait(now.edition, None)
            else:
                self._attempt(lead.order)

    def _follow(self, lead: Lead | None) -> bool:
        try:
            self.desk.lead(lead)
        except WireError as error:
            log.error("cannot be a supernode of this round: %s [%s]", error.detail, error.code)
            return False
        return True

    def _attempt(self, order: Order) -> None:
        try:
            self._send(order)
            self._retrying.succeed()
        except (AgentError, WireError) as error:
            if isinstance(error, Refused) and error.is_revoked:
                self.situation.end(error)
            elif isinstance(error, AgentError) and is_retryable(error):
                self._retrying.wait_out(error)
            else:  # the platform does not hear of it, and has the neighbours send their updates themselves
                log.error("the sum of %d updates is not sent: %s [%s]", len(order.shares), error.detail, error.code)
                self._done = order.fold

    def _send(self, order: Order) -> None:
        payload = self.desk.sum(order)
        offer = OfferPartial(fold=order.fold, sha256=hashlib.sha256(payload).hexdigest(), size_bytes=len(payload))
        outcome = Delivery(
            link=self.link,
            offer=offer,
            read=lambda offset, size: payload[offset : offset + size],
            chunk_bytes=self.chunk_bytes,
        ).run(stop=self.situation.is_offline)
        if isinstance(outcome, Refused):
            raise outcome
        if outcome == "accepted":
            log.info("sent the sum of %d neighbours' updates, %d bytes", len(order.shares), len(payload))
            self._done = order.fold
