"""A server of one address, with bounds so small that a test reaches them at once."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
import uvicorn

from coterie.gateway.door.body import Receive
from coterie.gateway.door.connections import Connections
from coterie.gateway.door.limits import Limits
from coterie.gateway.door.protocol import guarded
from coterie.gateway.door.socket_protocol import guarded_sockets
from coterie.gateway.http import Scope, Send

WAIT_S = 20.0
SMALL = Limits(
    head_bytes=2048,
    url_bytes=256,
    header_fields=10,
    head_s=0.2,
    pipelined=3,
    linger_s=0.2,
    linger_bytes=1 << 20,
    patience_s=0.3,
    connections_per_address=3,
    reserved_descriptors=0,
    socket_frames=4,
    fragments=8,
)


class Client:
    """One connection, in bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        """Send `data`; a server that has hung up is no matter."""
        try:
            self.writer.write(data)
            await asyncio.wait_for(self.writer.drain(), WAIT_S)
        except (ConnectionError, OSError):
            return

    async def read(self, size: int = 1 << 16) -> bytes:
        """Some bytes; none: the server has hung up."""
        try:
            return await asyncio.wait_for(self._reader.read(size), WAIT_S)
        except ConnectionError:
            return b""

    async def rest(self) -> bytes:
        """All bytes until the server hangs up."""
        parts = []
        while part := await self.read():
            parts.append(part)
        return b"".join(parts)

    async def head(self) -> bytes:
        """An answer's status line and headers."""
        return await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), WAIT_S)


class Served:
    """The server under test: it answers each request with what it was sent, once it may."""

    def __init__(self) -> None:
        self.connections = Connections(SMALL, descriptors=1000)
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.begun = 0
        self.size_bytes = 0
        """Of the answers, where they shall be large."""
        self.port = 0
        self._clients: list[Client] = []

    async def open(self) -> Client:
        """Connect."""
        client = Client(*await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 16))
        self._clients.append(client)
        return client

    def hang_up(self) -> None:
        """Close every connection."""
        for client in self._clients:
            client.writer.transport.abort()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            while (await receive())["type"] != "websocket.disconnect":
                await self.may_answer.wait()
            return
        self.begun += 1
        await self.may_answer.wait()
        body = b"a" * self.size_bytes
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        for start in range(0, len(body), 1 << 16):
            await send({"type": "http.response.body", "body": body[start : start + (1 << 16)], "more_body": True})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    served = Served()
    config = uvicorn.Config(
        cast(Any, served),
        http=cast(Any, guarded(served.connections, SMALL)),
        ws=cast(Any, guarded_sockets(served.connections, SMALL)),
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        served.port = listener.getsockname()[1]
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0)
        yield served
        served.may_answer.set()
        served.hang_up()
        server.should_exit = True
        await running


async def eventually(look: Callable[[], bool]) -> None:
    """Give the loop turns until `look` holds."""

    async def wait() -> None:
        while not look():
            await asyncio.sleep(0)

    await asyncio.wait_for(wait(), WAIT_S)
