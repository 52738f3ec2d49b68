"""Uploads an update or a partial sum to a supernode, encrypted for it alone, and returns its receipt."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET

from coterie_agent.discovery.book import AddressBook, way_to
from coterie_agent.errors import AgentError
from coterie_agent.exclusions import Exclusions
from coterie_agent.link.failure import Unreachable
from coterie_agent.link.neighbour import ask_neighbour
from coterie_wire.errors import WireError
from coterie_wire.exclusion import MAX_LIST_BYTES
from coterie_wire.relaying import (
    PATH,
    HandedOver,
    HandOver,
    Route,
    SignedReceipt,
    SumRoute,
    read_with_body,
    seal,
    unseal,
    with_body,
)

if TYPE_CHECKING:  # it loads asyncio
    from coterie_agent.direct.paths import DirectPaths

RecordSent = Callable[[str, int], None]


class NeighbourRefused(AgentError):
    """The supernode refuses the update; `code` and `detail` are those of its answer."""

    ask: str | None = None
    """Another device of its island, which holds or accepts the update."""


@dataclass(frozen=True, kw_only=True)
class SupernodeUpload:
    """The upload of an update or a partial sum to a supernode."""

    route: Route | SumRoute
    what: str
    """Its name in the owner's list of what was sent."""
    sha256: str
    size_bytes: int
    classes: tuple[int, ...] = ()
    read: Callable[[int, int], bytes]
    """Reads bytes from an offset on, at most so many."""
    secret: bytes
    chunk_bytes: int
    record_sent: RecordSent
    exclusions: Exclusions
    is_away: bool = False
    """Whether the platform is unreachable: the supernode accepts the update as the leader of its island."""
    book: AddressBook | None = None
    """Looks up the supernode if it is not at the address of the route; None: no look-up."""
    paths: "DirectPaths | None" = None
    """Direct paths to a supernode that does not answer at its address; None: no direct paths."""

    def run(self, *, stop: Callable[[], bool]) -> SignedReceipt | None:
        """The receipt; None if `stop` returned true before. Raises Unreachable or NeighbourRefused."""
        answer = self._send(0, b"")
        while answer.receipt is None:
            if stop():
                return None
            sent_from = answer.offset
            answer = self._send(sent_from, self.read(sent_from, self.chunk_bytes))
            if answer.receipt is None and answer.offset == sent_from:
                raise Unreachable("the supernode keeps nothing of what it is sent")
        return answer.receipt

    def _send(self, offset: int, chunk: bytes) -> HandedOver:
        route = self.route
        header = HandOver(
            sha256=self.sha256,
            size_bytes=self.size_bytes,
            offset=offset,
            classes=self.classes,
            away=True if self.is_away else UNSET,
            exclusions=self.exclusions.news_for(route.supernode),
        )
        body = with_body(route.ticket, seal(with_body(header, chunk), secret=self.secret, to=route.key))
        with way_to(self.book, self.exclusions, route.supernode, route.key, route.address, "updates") as address:
            self.record_sent(self.what, len(chunk))
            answer = self._ask(address, body)
        if answer.refusal is not None:
            refused = NeighbourRefused(answer.refusal.code, answer.refusal.sentence)
            refused.ask = None if answer.ask is UNSET else answer.ask
            raise refused
        return answer

    def _ask(self, address: str, body: bytes) -> HandedOver:
        direct = self.route.direct
        if self.paths is None or direct is None or direct.device != self.route.supernode:
            reply = ask_neighbour(address, PATH, body, at_most_bytes=MAX_LIST_BYTES)
        else:
            reply = self.paths.ask_nearest(address, direct, PATH, body, at_most_bytes=MAX_LIST_BYTES)
        try:
            answer, _ = read_with_body(unseal(reply, secret=self.secret, by=self.route.key), HandedOver)
        except WireError as error:
            raise Unreachable(f"what answers at {address} is not the supernode: {error.detail}") from error
        self.exclusions.receive_from(self.route.supernode, answer.exclusions)
        return answer
