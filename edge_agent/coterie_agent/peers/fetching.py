"""Fetches a portion from the device that helps, over a direct path."""

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

from coterie_agent.link.failure import Unreachable
from coterie_agent.peers.portion_handler import PIECE_BYTES
from coterie_wire.errors import WireError
from coterie_wire.helping import PORTIONS_PATH, Fetch, Fetched, Portion, PortionOf
from coterie_wire.relaying import DirectPeer, read_with_body, seal, unseal, with_body

if TYPE_CHECKING:  # it loads asyncio
    from coterie_agent.direct.paths import DirectPaths

_OVERHEAD_BYTES = 1 << 10
"""Size of the seal and the header of a piece."""


def fetch_directly(paths: "DirectPaths", portion: Portion, helper: DirectPeer, offset: int) -> Iterator[bytes]:
    """The portion's bytes from `offset` on. Raises Unreachable where the helper does not deliver them."""
    while offset < portion.content.size_bytes:
        number = secrets.token_bytes(16)
        question = seal(with_body(Fetch(portion.transfer, number, offset)), secret=paths.secret, to=helper.key)
        reply = paths.ask(
            helper,
            PORTIONS_PATH,
            with_body(PortionOf(portion.transfer), question),
            at_most_bytes=PIECE_BYTES + _OVERHEAD_BYTES,
        )
        try:
            fetched, piece = read_with_body(unseal(reply, secret=paths.secret, by=helper.key), Fetched)
        except WireError as error:
            raise Unreachable(f"what answers on the direct path is not the helper: {error.detail}") from error
        if fetched.number != number or not piece:
            raise Unreachable("the helper repeats an older answer, or has no more of the portion")
        yield piece
        offset += len(piece)
