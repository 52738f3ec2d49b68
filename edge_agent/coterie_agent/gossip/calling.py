"""Calls a peer: one sealed question, one sealed answer."""

import secrets
from collections.abc import Callable
from typing import Literal, NamedTuple

from coterie_agent.discovery.book import AddressBook, way_to
from coterie_agent.gossip.answers import own_answer
from coterie_agent.gossip.reaching import Reaching
from coterie_wire.meeting import Envelope, MeetingCall, MeetingReply
from coterie_wire.relaying import Peer, seal, with_body

RecordSent = Callable[[str, int], None]


class Replied(NamedTuple):
    """A peer's answer, and the content that came with it."""

    answer: MeetingReply
    content: bytes


class PeerCalls:
    """Calls of one device in one round."""

    def __init__(
        self,
        *,
        device: str,
        secret: bytes,
        round_: str,
        record_sent: RecordSent,
        reaching: Reaching,
        book: AddressBook | None = None,
    ) -> None:
        """`book` looks up peers that are not at the address in the roster; None: no look-up."""
        self._device, self._secret, self._round, self._record_sent = device, secret, round_, record_sent
        self._reaching, self._book, self._exclusions = reaching, book, reaching.exclusions

    def call(
        self,
        peer: Peer,
        asks: Literal["who is there", "take my share", "your average", "your model"],
        *,
        roster: str,
        meeting: int,
        members: tuple[str, ...] = (),
        weight: int = 0,
        content: bytes = b"",
    ) -> Replied:
        """Ask `peer`. Raises Unreachable where no answer made by the peer arrives."""
        number = secrets.token_bytes(16)
        news = self._exclusions.news_for(peer.device)
        call = MeetingCall(self._device, peer.device, number, roster, meeting, asks, members, weight, news)
        sealed = seal(with_body(call, content), secret=self._secret, to=peer.key)
        body = with_body(Envelope(self._round, self._device), sealed)
        with way_to(self._book, self._exclusions, peer.device, peer.key, peer.address, "meetings") as address:
            self._record_sent("model to a peer" if content else "question to a peer", len(body))
            return self._ask(peer, address, body, number)

    def _ask(self, peer: Peer, address: str, body: bytes, number: bytes) -> Replied:
        def read(reply: bytes) -> Replied:
            replied = Replied(*own_answer(reply, MeetingReply, peer, number, secret=self._secret))
            self._exclusions.receive_from(peer.device, replied.answer.exclusions)
            return replied

        return self._reaching.ask(peer, address, body, read)
