"""Takes an update, or a sum, to a supernode, sealed for it alone, and brings back its receipt."""

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
    """The supernode does not take the update; `code` and `detail` are those of its answer."""

    ask: str | None = None
    """Another device of its island, which has or takes it."""


@dataclass(frozen=True, kw_only=True)
class SupernodeUpload:
    """An update or a sum on its way to a supernode."""

    route: Route | SumRoute
    what: str
    """As the owner's list of what was sent calls it."""
    sha256: str
    size_bytes: int
    classes: tuple[int, ...] = ()
    read: Callable[[int, int], bytes]
    """Bytes of it from an offset on, at most so many."""
    secret: bytes
    chunk_bytes: int
    record_sent: RecordSent
    exclusions: Exclusions
    is_away: bool = False
    """The platform does not answer: what the supernode takes it takes as the leader of its island."""
    book: AddressBook | None = None
    """Where the supernode is found if it is not where the route says; None: nowhere."""
    paths: "DirectPaths | None" = None
    """By which it is reached where it does not answer at its address; None: it is not."""

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
        told = HandOver(
            sha256=self.sha256,
            size_bytes=self.size_bytes,
            offset=offset,
            classes=self.classes,
            away=True if self.is_away else UNSET,
            exclusions=self.exclusions.news_for(route.supernode),
        )
        body = with_body(route.ticket, seal(with_body(told, chunk), secret=self.secret, to=route.key))
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
        self.exclusions.hear_from(self.route.supernode, answer.exclusions)
        return answer
