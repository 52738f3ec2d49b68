"""The device API without a server: HTTP through httpx, sockets through two queues."""

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from coterie.gateway.asgi import in_front_of
from coterie.gateway.door.limits import Limits
from coterie.gateway.door.refusal_costs import RefusalCosts
from coterie.gateway.http import Application, Event, Receive, Scope, Send

WAIT_S = 10.0


async def no_site(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise AssertionError("this address is the site's")


application = in_front_of(no_site, refusal_costs=RefusalCosts(Limits(refusals_allowance_s=1e9)))
"""Without what tests before have had refused."""


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://platform/device/v1/") as client:
        yield client


class SocketClient:
    """One side of a socket; the other is the application."""

    def __init__(
        self, credential: str, path: str = "/device/v1/socket", application: Application = application
    ) -> None:
        self._to_app: asyncio.Queue[Event] = asyncio.Queue()
        self._from_app: asyncio.Queue[Event] = asyncio.Queue()
        headers = [(b"authorization", f"Bearer {credential}".encode())]
        scope = {
            "type": "websocket",
            "path": path,
            "headers": headers,
            "extensions": {"websocket.http.response": {}},
        }
        self._to_app.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.create_task(application(scope, self._to_app.get, self._from_app.put))

    async def heard(self) -> Event:
        """What the application sends next."""
        return await asyncio.wait_for(self._from_app.get(), WAIT_S)

    def say(self, text: str | bytes) -> None:
        """Send a frame."""
        self._to_app.put_nowait({"type": "websocket.receive", "text" if isinstance(text, str) else "bytes": text})

    async def close(self, code: int = 1000) -> None:
        """Hang up."""
        self._to_app.put_nowait({"type": "websocket.disconnect", "code": code})
        await asyncio.wait_for(self.task, WAIT_S)


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., SocketClient]]:
    """Opens a socket: ``connect(credential)``."""
    opened: list[SocketClient] = []

    def open_socket(credential: str, **more: str) -> SocketClient:
        client = SocketClient(credential, **more)
        opened.append(client)
        return client

    yield open_socket
    for client in opened:
        await client.close()
