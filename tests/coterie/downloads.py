"""Answers that come in parts, read whole."""

from asgiref.sync import async_to_sync
from django.http import HttpResponseBase, StreamingHttpResponse


def downloaded(answer: HttpResponseBase) -> bytes:
    """All bytes of a streamed answer, as the server's event loop would read them."""
    assert isinstance(answer, StreamingHttpResponse)

    async def read() -> bytes:
        return b"".join([part async for part in answer])

    return async_to_sync(read)()
