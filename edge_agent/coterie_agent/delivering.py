"""Brings an update to where it is merged: to the platform, or to the supernode that the platform names."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from coterie_agent.handing_over import HandingOver, NeighbourRefused
from coterie_agent.link.failure import Refused, Unreachable, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.situation import Now, Situation
from coterie_agent.store.work import WorkStore
from coterie_agent.upload import Delivery
from coterie_wire.messages import Assignment, OfferUpdate, UploadState
from coterie_wire.relaying import HandIn, Route, SignedReceipt

log = logging.getLogger(__name__)
_TRIES = 6
"""How often a supernode is tried before the update goes to the platform."""
_ROUTE_ENDED = "rounds.route_ended"
Ended = Literal["accepted", "stopped"] | Refused
"""How a delivery ends."""
Way = tuple[str, int]
"""An assignment, and the epoch of the route that its update takes."""


@dataclass(kw_only=True)
class Delivering:
    """Remembers which supernode holds an update, and which did not take it."""

    link: HttpLink
    work: WorkStore
    situation: Situation
    trusted: Callable[[], tuple[bytes, ...]]
    """The platform's keys, which may change while the agent runs."""
    peer_secret: bytes
    chunk_bytes: int
    record_sent: Callable[[str, int], None]
    _held: Way | None = None
    """Of the update that a supernode holds."""
    _away: tuple[Way, int] | None = None
    """Of one that a supernode did not take, and how often it has not."""

    def is_held(self, assignment: Assignment, now: Now) -> bool:
        """Whether the supernode that the platform names by `now` holds the update."""
        route = _route_of(assignment, now)
        return route is not None and self._held == (assignment.assignment, route.epoch)

    def run(self, assignment: Assignment, offer: OfferUpdate) -> Literal["held"] | Ended:
        """Deliver the update as it is. Raises Unreachable where who is to have it does not answer, and may yet."""
        route = _route_of(assignment, self.situation.now)
        if route is not None and not self._has_given_up((assignment.assignment, route.epoch)):
            outcome = self._hand_over(assignment, offer, route)
            if outcome is not None:
                return outcome
        delivery = Delivery(link=self.link, offer=offer, read=self.work.read_payload, chunk_bytes=self.chunk_bytes)
        return delivery.run(stop=self.situation.is_offline)

    def _hand_over(self, assignment: Assignment, offer: OfferUpdate, route: Route) -> Literal["held"] | Ended | None:
        """Hand the update to a supernode, and its receipt to the platform; None: it goes to the platform itself.

        Raises Unreachable where the platform does not answer, or the supernode does not and may yet.
        """
        from coterie_agent.training.vouching import fingerprints_of  # it loads NumPy

        way = (assignment.assignment, route.epoch)
        try:
            state = self.link.call(offer, UploadState)
            if state.accepted:
                return "accepted"
            if state.held != route.epoch:
                receipt = self._receipt(way, offer, route)
                if receipt is None:
                    return None if self._has_given_up(way) else "stopped"
                payload = self.work.read_payload(0, offer.size_bytes)
                found = fingerprints_of(assignment, payload, offer, route, receipt, self.trusted())
                if found is None:
                    log.warning("the receipt of the supernode is not for this update, which goes to the platform")
                    self._away = (way, _TRIES)
                    return None
                hand_in = HandIn(
                    assignment=assignment.assignment,
                    receipt=receipt,
                    fingerprint=found[0],
                    tier_fingerprints=found[1:],
                )
                self.link.call(hand_in, UploadState)
        except Refused as refusal:
            if refusal.code == _ROUTE_ENDED:
                self.situation.wake()
                raise Unreachable(refusal.detail) from refusal
            if refusal.is_revoked or is_retryable(refusal):
                raise
            return refusal
        log.info("a neighbour holds the update until the round is merged")
        self._held = way
        return "held"

    def _receipt(self, way: Way, offer: OfferUpdate, route: Route) -> SignedReceipt | None:
        """That of the supernode; None if the agent is to stop, or has asked often enough. Raises Unreachable."""
        try:
            return HandingOver(
                route=route,
                what="update to a supernode",
                sha256=offer.sha256,
                size_bytes=offer.size_bytes,
                classes=offer.classes,
                read=self.work.read_payload,
                secret=self.peer_secret,
                chunk_bytes=self.chunk_bytes,
                record_sent=self.record_sent,
            ).run(stop=self.situation.is_offline)
        except (Unreachable, NeighbourRefused) as error:
            tries = self._away[1] + 1 if self._away is not None and self._away[0] == way else 1
            self._away = (way, tries)
            if tries >= _TRIES:
                log.warning("%s; the update goes to the platform", error.detail)
                return None
            raise Unreachable(error.detail) from error

    def _has_given_up(self, way: Way) -> bool:
        return self._away == (way, _TRIES)


def _route_of(assignment: Assignment, now: Now) -> Route | None:
    """The supernode that the update goes to by `now`; None: it goes to the platform."""
    assigned = now.directive.assignment if now.directive else None
    return None if assigned is None or assigned.assignment != assignment.assignment else assigned.route
