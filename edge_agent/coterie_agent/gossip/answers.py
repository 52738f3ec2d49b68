"""The sealed answer of a peer to one question."""

from typing import TypeVar

from coterie_agent.link.failure import Unreachable
from coterie_wire.errors import WireError
from coterie_wire.meeting import MeetingReply
from coterie_wire.passing_on import PassedOn
from coterie_wire.relaying import Peer, read_with_body, unseal

A = TypeVar("A", MeetingReply, PassedOn)


def own_answer(reply: bytes, struct: type[A], peer: Peer, number: bytes, *, secret: bytes) -> tuple[A, bytes]:
    """The answer of `peer` to question `number`, and its body. Raises Unreachable where the peer did not make it."""
    try:
        answer, body = read_with_body(unseal(reply, secret=secret, by=peer.key), struct)
    except WireError as error:
        raise Unreachable(f"what answers is not device {peer.device}: {error.detail}") from error
    if answer.number != number:
        raise Unreachable(f"what answers for device {peer.device} repeats an older answer")
    return answer, body
