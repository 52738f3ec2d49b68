"""Uploads: a body is written to its file as it arrives; memory stays flat and a break loses nothing."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from django.utils import timezone

from coterie.core.arrivals import UploadTarget
from coterie.core.errors import CoterieError, ErrorKind
from coterie.fleet.models import Device
from coterie.fleet.selectors import device_of_credential
from coterie.gateway.http import Request, Send, reply
from coterie.gateway.threads import blocking, in_thread
from coterie.rounds import uploads as updates
from coterie.transfer import portions
from coterie_wire.messages import UploadState

WRITE_BYTES = 256 << 10


class UploadBusy(CoterieError):
    """Another request writes the same upload."""

    code = "gateway.upload_busy"
    kind = ErrorKind.UNAVAILABLE  # temporary: the other request ends, or stalls and is ended
    sentence = "Another request is writing this upload; ask how far it came and go on from there."


class UploadTooLong(CoterieError):
    """The body is longer than announced."""

    code = "gateway.upload_too_long"
    kind = ErrorKind.TOO_LARGE
    sentence = "The upload was announced with {size_bytes} bytes and more came; the rest was dropped."


class OffsetMissing(CoterieError):
    """The request does not say where its body belongs."""

    code = "gateway.offset_missing"
    kind = ErrorKind.INVALID
    sentence = "Say in the header Upload-Offset how many bytes came before."


class Purpose(NamedTuple):
    """What uploads of one kind are for."""

    open: Callable[[Device, str, int, datetime], UploadTarget]
    """Where to write the bytes of an upload from an offset on."""
    complete: Callable[[Device, str, datetime], UploadState]
    """Verify what has arrived, and accept it."""


UPDATES = Purpose(updates.open_upload, updates.complete_upload)
"""By assignment."""
PORTIONS = Purpose(portions.open_upload, portions.complete_upload)
"""By transfer."""


async def receive_upload(purpose: Purpose, key: str, request: Request, send: Send) -> None:
    """``PATCH /device/v1/uploads/ASSIGNMENT`` or ``/portions/TRANSFER`` with ``Upload-Offset``.

    Replies with an `UploadState`. What has arrived stays when the connection breaks. Raises UploadBusy, UploadTooLong,
    OffsetMissing, BodyStalled and what `device_of_credential` and the `purpose` raise.
    """
    credential = request.credential()
    offset = _offset(request.header("upload-offset"))
    target = await in_thread(lambda: _open(purpose, credential, key, offset))
    with _sole_writer(target.path) as descriptor:
        if os.fstat(descriptor).st_size != offset:  # another request wrote in between: ask again for the right error
            target = await in_thread(lambda: _open(purpose, credential, key, offset))
        written = await _append(request, descriptor, target, offset)
    if written < target.size_bytes:
        state = UploadState(offset=written)
    else:
        state = await in_thread(lambda: _complete(purpose, credential, key))
    await reply(send, msgspec.json.encode(state))


async def _append(request: Request, descriptor: int, target: UploadTarget, offset: int) -> int:
    """Write the body from `offset` on. Returns the size then; what came before a break is written, too."""
    end = offset
    pending = bytearray()

    async def flush() -> None:
        nonlocal end
        data = bytes(pending)
        pending.clear()
        await blocking(lambda: _write_all(descriptor, data, end))
        end += len(data)

    try:
        async for chunk in request.chunks():
            room = target.size_bytes - end - len(pending)
            pending += chunk[:room]
            if len(chunk) > room:
                raise UploadTooLong(size_bytes=target.size_bytes)
            if len(pending) >= WRITE_BYTES:
                await flush()
    finally:
        if pending:
            await flush()
    return end


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


@contextmanager
def _sole_writer(path: Path) -> Iterator[int]:
    """The file open for writing and locked, against other processes as well. Raises UploadBusy."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UploadBusy from error
        yield descriptor
    finally:
        os.close(descriptor)


def _open(purpose: Purpose, credential: str, key: str, offset: int) -> UploadTarget:
    return purpose.open(device_of_credential(credential), key, offset, timezone.now())


def _complete(purpose: Purpose, credential: str, key: str) -> UploadState:
    return purpose.complete(device_of_credential(credential), key, timezone.now())


def _offset(header: str | None) -> int:
    if header is None or not header.isdecimal() or len(header) > 18:
        raise OffsetMissing
    return int(header)
