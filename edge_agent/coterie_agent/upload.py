"""Uploads the spooled update in chunks, from wherever the platform says the last attempt ended."""

from collections.abc import Callable
from typing import Literal

from coterie_agent.link.failure import Refused, Unreachable, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.store.work import WorkStore
from coterie_wire.messages import OfferUpdate, UploadState

_WRONG_OFFSET = "rounds.wrong_offset"


def upload_update(
    link: HttpLink, work: WorkStore, offer: OfferUpdate, *, chunk_bytes: int, stop: Callable[[], bool]
) -> Literal["accepted", "stopped"] | Refused:
    """Bring the spooled update to the platform; a Refused is its final no to this assignment.

    Raises Unreachable, and Refused where trying again can help or the device's credential has ended.
    """
    try:
        state = link.call(offer, UploadState)
        while not state.accepted:
            if stop():
                return "stopped"
            if state.offset >= offer.size_bytes:
                raise Unreachable("the platform has the whole update and has not accepted it yet")
            sent_from, state = state.offset, _send_chunk(link, work, offer, state.offset, chunk_bytes)
            if state.offset == sent_from and not state.accepted:
                raise Unreachable("the platform keeps nothing of what it is sent")
    except Refused as refusal:
        if refusal.is_revoked or is_retryable(refusal):
            raise
        return refusal
    return "accepted"


def _send_chunk(link: HttpLink, work: WorkStore, offer: OfferUpdate, offset: int, chunk_bytes: int) -> UploadState:
    chunk = work.read_payload(offset, chunk_bytes)
    try:
        return link.upload(offer.assignment, offset=offset, chunk=chunk)
    except Refused as refusal:
        if refusal.code != _WRONG_OFFSET:
            raise
        return link.call(offer, UploadState)
