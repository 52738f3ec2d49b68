"""Downloads of the repository of agent releases: signed files, passed on as they are."""

import os
from http import HTTPStatus
from typing import BinaryIO, NamedTuple

from coterie.fleet.selectors import Shown, device_of
from coterie.gateway.blobs import CHUNK_BYTES
from coterie.gateway.http import Request, Send, start_reply
from coterie.gateway.threads import blocking, in_thread
from coterie.releases.served import NEWEST, open_release_file


class _Opened(NamedTuple):
    file: BinaryIO
    size_bytes: int


async def send_release_file(part: str, name: str, request: Request, send: Send) -> None:
    """``GET|HEAD /device/v1/releases/metadata|targets/NAME``.

    Raises what `device_of` and `open_release_file` raise.
    """
    shown = request.shown()
    opened = await in_thread(lambda: _open(part, name, shown))
    try:
        lasts = "no-cache" if name == NEWEST else "private, max-age=31536000, immutable"
        headers = {"content-type": "application/octet-stream", "content-length": str(opened.size_bytes)}
        await start_reply(send, status=HTTPStatus.OK, headers={**headers, "cache-control": lasts})
        left = opened.size_bytes if request.method == "GET" else 0
        while left > 0:
            chunk = await blocking(lambda: opened.file.read(min(CHUNK_BYTES, left)))  # noqa: B023 - awaited here
            left = left - len(chunk) if chunk else 0
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        await blocking(opened.file.close)


def _open(part: str, name: str, shown: Shown) -> _Opened:
    device_of(shown)
    file = open_release_file(part, name)
    size_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    return _Opened(file, size_bytes)
