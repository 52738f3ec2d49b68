"""Downloads of graphs, parameters and portions, resumable by ranges."""

from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import BinaryIO, NamedTuple

from django.conf import settings
from django.utils import timezone

from coterie.fleet.selectors import Shown, device_of
from coterie.gateway.byte_range import ByteRange, parse_range
from coterie.gateway.http import Request, Send, reply, start_reply
from coterie.gateway.threads import blocking, in_thread
from coterie.registry.selectors import device_blob
from coterie.registry.verifying import blob_url, open_blob
from coterie.transfer.portions import open_portion
from coterie_wire.version import PRESIGNED

CHUNK_BYTES = 256 << 10
URL_LASTS = timedelta(minutes=5)


class _Opened(NamedTuple):
    file: BinaryIO
    sha256: str
    size_bytes: int


async def send_blob(sha256: str, request: Request, send: Send) -> None:
    """``GET|HEAD /device/v1/blobs/SHA256``, whole or one ``Range``.

    A client that sends ``Prefer: presigned`` may be redirected to the object storage, by a URL valid for `URL_LASTS`.
    Raises what `device_of` and `device_blob` raise, and RangeNotSatisfiable.
    """
    shown = request.shown()
    if settings.PRESIGNED_DOWNLOADS and request.header("prefer") == PRESIGNED:
        url = await in_thread(lambda: _blob_url(sha256, shown))
        if url is not None:
            headers = {"location": url, "preference-applied": PRESIGNED, "cache-control": "private, no-store"}
            await reply(send, status=HTTPStatus.TEMPORARY_REDIRECT, headers=headers)
            return
    await _send(lambda: _open_blob(sha256, shown), request, send)


async def send_portion(transfer: str, request: Request, send: Send) -> None:
    """``GET|HEAD /device/v1/portions/TRANSFER``, whole or one ``Range``, for the device that asked for help.

    Raises what `device_of` and `open_portion` raise, and RangeNotSatisfiable.
    """
    shown = request.shown()
    await _send(lambda: _open_portion(transfer, shown), request, send)


async def _send(open_content: Callable[[], _Opened], request: Request, send: Send) -> None:
    opened = await in_thread(open_content)
    try:
        etag = f'"{opened.sha256}"'
        headers = {"etag": etag, "accept-ranges": "bytes", "cache-control": "private, max-age=31536000, immutable"}
        if request.header("if-none-match") == etag:
            await reply(send, status=HTTPStatus.NOT_MODIFIED, headers=headers)
            return
        fresh = request.header("if-range") in (None, etag)
        part = parse_range(request.header("range"), opened.size_bytes) if fresh else None
        await _send_part(opened, part, headers, send, with_body=request.method == "GET")
    finally:
        await blocking(opened.file.close)


def _open_blob(sha256: str, shown: Shown) -> _Opened:
    device_of(shown)
    blob = device_blob(sha256)
    return _Opened(open_blob(blob.sha256, now=timezone.now()), blob.sha256, blob.size_bytes)


def _blob_url(sha256: str, shown: Shown) -> str | None:
    device_of(shown)
    return blob_url(device_blob(sha256).sha256, lasts=URL_LASTS, now=timezone.now())


def _open_portion(transfer: str, shown: Shown) -> _Opened:
    file, portion = open_portion(device=device_of(shown), transfer_id=transfer)
    return _Opened(file, portion.sha256, portion.size_bytes)


async def _send_part(
    opened: _Opened, part: ByteRange | None, headers: dict[str, str], send: Send, *, with_body: bool
) -> None:
    start, stop = part or ByteRange(0, opened.size_bytes)
    headers = {**headers, "content-type": "application/octet-stream", "content-length": str(stop - start)}
    if part is not None:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{opened.size_bytes}"
    await start_reply(send, status=HTTPStatus.OK if part is None else HTTPStatus.PARTIAL_CONTENT, headers=headers)
    if with_body and start < stop:
        await blocking(lambda: opened.file.seek(start))
        while start < stop:
            chunk = await blocking(lambda: opened.file.read(min(CHUNK_BYTES, stop - start)))  # noqa: B023 - awaited here
            start += len(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": start < stop})
    else:
        await send({"type": "http.response.body", "body": b""})
