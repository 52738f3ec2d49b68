"""Uploads spooled bytes in chunks, resuming at the offset that the platform reports."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from coterie_agent.link.failure import Refused, Unreachable, is_retryable
from coterie_agent.link.http import HttpLink, UploadKind
from coterie_wire.helping import OfferPortion
from coterie_wire.messages import OfferUpdate, UploadState
from coterie_wire.relaying import OfferPartial
from coterie_wire.secure_sum import OfferMasked

_WRONG_OFFSET = "upload.wrong_offset"


@dataclass(frozen=True, kw_only=True)
class UploadInParts:
    """The upload of an update (masked or not), a portion or a partial aggregate."""

    link: HttpLink
    offer: OfferUpdate | OfferMasked | OfferPortion | OfferPartial
    read: Callable[[int, int], bytes]
    """Reads bytes from an offset on, at most so many."""
    chunk_bytes: int

    def run(self, *, stop: Callable[[], bool]) -> Literal["accepted", "stopped"] | Refused:
        """Upload to the platform; returns Refused where it refuses for good.

        Raises Unreachable, and Refused where trying again can help or the device's credential has ended.
        """
        try:
            state = self.link.call(self.offer, UploadState)
            while not state.accepted:
                if stop():
                    return "stopped"
                if state.offset >= self.offer.size_bytes:
                    raise Unreachable(f"the platform has the whole {self._what} and has not accepted it yet")
                sent_from, state = state.offset, self._send_chunk(state.offset)
                if state.offset == sent_from and not state.accepted:
                    raise Unreachable("the platform keeps nothing of what it is sent")
        except Refused as refusal:
            if refusal.is_revoked or is_retryable(refusal):
                raise
            return refusal
        return "accepted"

    @property
    def _what(self) -> UploadKind:
        return self._target[0]

    @property
    def _target(self) -> tuple[UploadKind, str]:
        """The kind of upload, and its identifier on the platform."""
        match self.offer:
            case OfferUpdate(assignment=key):
                return "update", key
            case OfferMasked(assignment=key):
                return "masked-update", key
            case OfferPortion(transfer=key):
                return "portion", key
            case OfferPartial(fold=key):
                return "partial", key

    def _send_chunk(self, offset: int) -> UploadState:
        what, key = self._target
        chunk = self.read(offset, self.chunk_bytes)
        try:
            return self.link.upload(what, key, offset=offset, chunk=chunk)
        except Refused as refusal:
            if refusal.code != _WRONG_OFFSET:
                raise
            return self.link.call(self.offer, UploadState)
