"""Uploads: a body is stored in parts as it arrives; memory stays flat and an interruption loses nothing."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.utils import timezone

from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.metrics import UPLOADED_BYTES
from coterie.fleet.models import Device
from coterie.fleet.selectors import Shown, device_of
from coterie.gateway.http import Request, Send, reply
from coterie.gateway.threads import blocking, in_thread
from coterie.rounds import partials
from coterie.rounds import uploads as updates
from coterie.storage.arrivals import PART_BYTES, UploadTarget
from coterie.transfer import portions
from coterie_wire.messages import UploadState


class UploadTooLong(CoterieError):
    """The body is longer than announced."""

    code = "gateway.upload_too_long"
    kind = ErrorKind.TOO_LARGE
    sentence = "The upload was announced with {size_bytes} bytes and more came; the rest was dropped."


class OffsetMissing(CoterieError):
    """The request does not state the offset of its body."""

    code = "gateway.offset_missing"
    kind = ErrorKind.INVALID
    sentence = "Say in the header Upload-Offset how many bytes came before."


class Purpose(NamedTuple):
    """One kind of uploads."""

    open: Callable[[Device, str, int, datetime], UploadTarget]
    """Opens an upload for writing from an offset on."""
    complete: Callable[[Device, str, datetime], UploadState]
    """Verifies and accepts a complete upload."""


UPDATES = Purpose(updates.open_upload, updates.complete_upload)
"""By assignment."""
PORTIONS = Purpose(portions.open_upload, portions.complete_upload)
"""By transfer."""
PARTIALS = Purpose(partials.open_upload, partials.complete_upload)
"""By the requested sum."""


async def receive_upload(purpose: Purpose, key: str, request: Request, send: Send) -> None:
    """``PATCH /device/v1/uploads/ASSIGNMENT`` ``/portions/TRANSFER`` or ``/partials/FOLD`` with ``Upload-Offset``.

    Replies with an `UploadState`. Bytes that have arrived are kept when the connection breaks. Raises UploadBusy,
    UploadTooLong, OffsetMissing, BodyStalled and what `device_of` and the `purpose` raise.
    """
    shown = request.shown()
    offset = _offset(request.header("upload-offset"))
    target = await in_thread(lambda: _open(purpose, shown, key, offset))
    written = await _append(request, target, offset)
    if written < target.size_bytes:
        state = UploadState(offset=written)
    else:
        state = await in_thread(lambda: _complete(purpose, shown, key))
    await reply(send, msgspec.json.encode(state))


async def _append(request: Request, target: UploadTarget, offset: int) -> int:
    """Store the body from `offset` on. Returns the size afterwards; what arrived before an interruption is
    stored, too.
    """
    end = offset
    pending = bytearray()

    async def flush() -> None:
        nonlocal end
        part = bytes(pending[:PART_BYTES])
        del pending[:PART_BYTES]
        try:
            await blocking(lambda: target.write(end, part))
        except BaseException:
            pending.clear()  # nothing may follow a gap
            raise
        end += len(part)
        UPLOADED_BYTES.inc(len(part))

    try:
        async for chunk in request.chunks():
            room = target.size_bytes - end - len(pending)
            pending += chunk[:room]
            if len(chunk) > room:
                raise UploadTooLong(size_bytes=target.size_bytes)
            while len(pending) >= PART_BYTES:
                await flush()
    finally:
        while pending:
            await flush()
    return end


def _open(purpose: Purpose, shown: Shown, key: str, offset: int) -> UploadTarget:
    return purpose.open(device_of(shown), key, offset, timezone.now())


def _complete(purpose: Purpose, shown: Shown, key: str) -> UploadState:
    return purpose.complete(device_of(shown), key, timezone.now())


def _offset(header: str | None) -> int:
    if header is None or not header.isdecimal() or len(header) > 18:
        raise OffsetMissing
    return int(header)
