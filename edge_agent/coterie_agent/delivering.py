"""Brings an update to where it is merged: to the platform, or to the supernode that the platform names."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from coterie_agent.discovery.book import AddressBook
from coterie_agent.exclusions import Exclusions
from coterie_agent.link.failure import Refused, Unreachable, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.situation import Now, Situation
from coterie_agent.store.work import WorkStore
from coterie_agent.supernode_upload import NeighbourRefused, SupernodeUpload
from coterie_agent.upload import UploadInParts
from coterie_wire.bundle import SignedManifest
from coterie_wire.errors import WireError
from coterie_wire.island import read_island
from coterie_wire.messages import Assignment, OfferUpdate, UploadState
from coterie_wire.relaying import HandIn, Peer, Route, SignedReceipt, verify_receipt

if TYPE_CHECKING:  # it loads asyncio
    from coterie_agent.direct.paths import DirectPaths

log = logging.getLogger(__name__)
_TRIES = 6
"""How often a supernode is tried before the update goes to the platform."""
_ROUTE_ENDED = "rounds.route_ended"
Ended = Literal["accepted", "stopped"] | Refused
"""How a delivery ends."""
RouteKey = tuple[str, int]
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
    exclusions: Exclusions
    book: AddressBook | None = None
    paths: "DirectPaths | None" = None
    """Direct paths to supernodes that do not answer at their addresses."""
    _held: RouteKey | None = None
    """The route of the update that a supernode holds."""
    _away: tuple[RouteKey, int] | None = None
    """The route of an update that a supernode did not take, and the number of failed tries."""
    _held_in_island: RouteKey | None = None
    """The route of an update that an island holds while the platform is unreachable."""

    def is_held(self, assignment: Assignment, now: Now) -> bool:
        """Whether the supernode that the platform names by `now` holds the update."""
        route = _route_of(assignment, now)
        if route is None:
            return False
        way = (assignment.assignment, route.epoch)
        return self._held == way or (self._held_in_island == way and now.is_cut_off)

    def run(self, assignment: Assignment, offer: OfferUpdate) -> Literal["held"] | Ended:
        """Deliver the update unmvoters. Raises Unreachable where the receiver does not answer now but may later."""
        now = self.situation.now
        route = _route_of(assignment, now)
        if route is not None and route.island is not None and now.is_cut_off:
            return self._submit_to_island(assignment, offer, route, route.island)
        if route is not None and not self._has_given_up((assignment.assignment, route.epoch)):
            outcome = self._submit(assignment, offer, route)
            if outcome is not None:
                return outcome
        delivery = UploadInParts(link=self.link, offer=offer, read=self.work.read_payload, chunk_bytes=self.chunk_bytes)
        return delivery.run(stop=self.situation.is_offline)

    def _submit(self, assignment: Assignment, offer: OfferUpdate, route: Route) -> Literal["held"] | Ended | None:
        """Submit the update to a supernode, and its receipt to the platform; None: it goes to the platform directly.

        Raises Unreachable where the platform or the supernode does not answer now but may later.
        """
        from coterie_agent.training.fingerprints import fingerprints_of  # it loads NumPy

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

    def _submit_to_island(
        self, assignment: Assignment, offer: OfferUpdate, route: Route, signed: SignedManifest
    ) -> Literal["held", "stopped"]:
        """Submit the update to the leader of the island, which holds it until the platform is reachable again.

        Raises Unreachable where no supernode of the island accepts it now.
        """
        try:
            island = read_island(signed, *self.trusted(), now=time.time())
        except WireError as error:
            raise Unreachable(f"nobody takes the update while the platform is away: {error.detail}") from error
        voters = sorted(island.voters, key=lambda voter: voter.device != route.supernode)
        for _ in range(2 * len(voters)):
            if not voters:
                break
            voter = voters.pop(0)
            try:
                receipt = self._upload(offer, route, to=voter).run(stop=self.situation.is_offline)
                if receipt is None:
                    return "stopped"
                if verify_receipt(receipt, voter.key).sha256 == offer.sha256:
                    log.info("device %s holds the update until the platform is there again", voter.device)
                    self._held_in_island = (assignment.assignment, route.epoch)
                    return "held"
            except (Unreachable, WireError) as error:
                log.debug("%s", error.detail)
            except NeighbourRefused as refused:
                log.debug("%s", refused.detail)
                named = None if refused.ask is None else island.voter(refused.ask)
                if named is not None:
                    voters = [named, *(one for one in voters if one != named)]
        raise Unreachable("no supernode of this neighbourhood takes the update while the platform is away")

    def _receipt(self, way: RouteKey, offer: OfferUpdate, route: Route) -> SignedReceipt | None:
        """The supernode's receipt; None if the agent is to stop, or after the last try. Raises Unreachable."""
        try:
            return self._upload(offer, route).run(stop=self.situation.is_offline)
        except (Unreachable, NeighbourRefused) as error:
            tries = self._away[1] + 1 if self._away is not None and self._away[0] == way else 1
            self._away = (way, tries)
            if tries >= _TRIES:
                log.warning("%s; the update goes to the platform", error.detail)
                return None
            raise Unreachable(error.detail) from error

    def _upload(self, offer: OfferUpdate, route: Route, *, to: Peer | None = None) -> SupernodeUpload:
        """The upload to the supernode of the route, or to a voter of the island while the platform is unreachable."""
        if to is not None:
            route = msgspec.structs.replace(route, supernode=to.device, key=to.key, address=to.address)
        return SupernodeUpload(
            route=route,
            what="update to a supernode",
            sha256=offer.sha256,
            size_bytes=offer.size_bytes,
            classes=offer.classes,
            read=self.work.read_payload,
            secret=self.peer_secret,
            chunk_bytes=self.chunk_bytes,
            record_sent=self.record_sent,
            exclusions=self.exclusions,
            is_away=to is not None,
            book=self.book,
            paths=self.paths,
        )

    def _has_given_up(self, way: RouteKey) -> bool:
        return self._away == (way, _TRIES)


def _route_of(assignment: Assignment, now: Now) -> Route | None:
    """The supernode that the update goes to by `now`; None: it goes to the platform.

    Where the agent has started without contact to the platform, it is the route of the accepted assignment.
    """
    if now.directive is None:
        return assignment.route if now.is_cut_off else None
    assigned = now.directive.assignment if now.directive else None
    return None if assigned is None or assigned.assignment != assignment.assignment else assigned.route
