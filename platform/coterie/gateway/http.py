"""One HTTP request of a device: reading it within bounds, answering it, rendering what goes wrong."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from coterie.core.errors import CoterieError, ErrorKind
from coterie.gateway.problems import CONTENT_TYPE, problem_of
from coterie_wire.errors import WireError

# Any: ASGI's events are untyped dictionaries by specification.
Scope = dict[str, Any]
Event = Mapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = "application/json"
SILENCE_S = 20.0
"""Longest gap in a body: a device that lost its network leaves a connection that never ends by itself."""


class UnknownAddress(CoterieError):
    """The device API has nothing there."""

    code = "gateway.unknown_address"
    kind = ErrorKind.NOT_FOUND
    sentence = "The device API has nothing at {method} {path}."


class CredentialMissing(CoterieError):
    """The request does not say which device sends it."""

    code = "gateway.credential_missing"
    kind = ErrorKind.UNAUTHENTICATED
    sentence = "Send the device's credential in the header: Authorization: Bearer CREDENTIAL."


class BodyStalled(CoterieError):
    """The body does not go on."""

    code = "gateway.body_stalled"
    kind = ErrorKind.UNAVAILABLE
    sentence = "Nothing of the body came for {silence_s:g} s; ask how far it came and go on from there."


class Disconnected(Exception):
    """The other side has gone in the middle of its request; there is nobody to answer."""


class Request:
    """A request's head and the stream of its body."""

    def __init__(self, scope: Scope, receive: Receive, *, silence_s: float = SILENCE_S) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self._receive = receive
        self._silence_s = silence_s

    def header(self, name: str) -> str | None:
        """A header's value; `name` in small letters."""
        value = self._headers.get(name.encode())
        return None if value is None else value.decode("latin-1")

    def credential(self) -> str:
        """The bearer's credential. Raises CredentialMissing."""
        return bearer(self.header("authorization"))

    async def body(self, *, limit_bytes: int) -> bytes:
        """The whole body. Raises WireError ``wire.too_large`` as soon as it is longer, BodyStalled or Disconnected."""
        parts: list[bytes] = []
        size_bytes = 0
        async for part in self.chunks():
            size_bytes += len(part)
            if size_bytes > limit_bytes:
                raise WireError("wire.too_large", f"the body is longer than {limit_bytes} bytes")
            parts.append(part)
        return b"".join(parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. Raises BodyStalled or Disconnected."""
        more = True
        while more:
            try:
                event = await asyncio.wait_for(self._receive(), self._silence_s)
            except TimeoutError as error:
                raise BodyStalled(silence_s=self._silence_s) from error
            if event["type"] == "http.disconnect":
                raise Disconnected
            yield event.get("body", b"")
            more = event.get("more_body", False)


def bearer(authorization: str | None) -> str:
    """The credential in an Authorization header. Raises CredentialMissing."""
    scheme, _, credential = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not credential.strip():
        raise CredentialMissing
    return credential.strip()


async def reply(
    send: Send,
    body: bytes = b"",
    *,
    status: HTTPStatus = HTTPStatus.OK,
    content_type: str = JSON,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Send a whole response."""
    await start_reply(
        send,
        status=status,
        headers={"content-type": content_type, "content-length": str(len(body)), **(headers or {})},
    )
    await send({"type": "http.response.body", "body": body})


async def start_reply(send: Send, *, status: HTTPStatus, headers: Mapping[str, str]) -> None:
    """Send a response's head."""
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status.value, "headers": pairs})


async def reply_with_problem(send: Send, error: Exception) -> None:
    """Tell the other side what was wrong, and close the connection: the rest of a refused body is of no use."""
    problem = problem_of(error)
    headers = {"connection": "close"}
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    await reply(
        send,
        msgspec.json.encode(problem),
        status=HTTPStatus(problem.status),
        content_type=CONTENT_TYPE,
        headers=headers,
    )
