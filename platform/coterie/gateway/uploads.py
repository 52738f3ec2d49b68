"""Uploads of updates: a body is written to its file as it arrives; memory stays flat and a break loses nothing."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from django.utils import timezone

from coterie.core.errors import CoterieError, ErrorKind
from coterie.fleet.selectors import device_of_credential
from coterie.gateway.http import Request, Send, reply
from coterie.gateway.threads import blocking, in_thread
from coterie.rounds.uploads import UploadTarget, complete_upload, open_upload
from coterie_wire.messages import UploadState

WRITE_BYTES = 256 << 10


class UploadBusy(CoterieError):
    """Another request writes the same upload."""

    code = "gateway.upload_busy"
    kind = ErrorKind.UNAVAILABLE  # it passes: the other one ends, or stalls and is ended
    sentence = "Another request is writing this upload; ask how far it came and go on from there."


class UploadTooLong(CoterieError):
    """The body goes on behind the announced size."""

    code = "gateway.upload_too_long"
    kind = ErrorKind.TOO_LARGE
    sentence = "The upload was announced with {size_bytes} bytes and more came; the rest was dropped."


class OffsetMissing(CoterieError):
    """The request does not say where its body belongs."""

    code = "gateway.offset_missing"
    kind = ErrorKind.INVALID
    sentence = "Say in the header Upload-Offset how many bytes came before."


async def receive_upload(assignment: str, request: Request, send: Send) -> None:
    """``PATCH /device/v1/uploads/ASSIGNMENT`` with ``Upload-Offset``; replies with an `UploadState`.

    What has arrived stays when the connection breaks. Raises UploadBusy, UploadTooLong, OffsetMissing, BodyStalled and
    what `device_of_credential`, `open_upload` and `complete_upload` raise.
    """
    credential = request.credential()
    offset = _offset(request.header("upload-offset"))
    target = await in_thread(lambda: _open_upload(credential, assignment, offset))
    with _sole_writer(target.path) as descriptor:
        if os.fstat(descriptor).st_size != offset:  # another request wrote between: ask again, to be told so
            target = await in_thread(lambda: _open_upload(credential, assignment, offset))
        written = await _append(request, descriptor, target, offset)
    if written < target.size_bytes:
        state = UploadState(offset=written)
    else:
        state = await in_thread(lambda: _complete_upload(credential, assignment))
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


def _open_upload(credential: str, assignment: str, offset: int) -> UploadTarget:
    return open_upload(device_of_credential(credential), assignment, offset, timezone.now())


def _complete_upload(credential: str, assignment: str) -> UploadState:
    return complete_upload(device_of_credential(credential), assignment, timezone.now())


def _offset(header: str | None) -> int:
    if header is None or not header.isdecimal() or len(header) > 18:
        raise OffsetMissing
    return int(header)
