"""One HTTP request of a device: reading it within limits, answering it, rendering errors."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from coterie.core.errors import CoterieError, ErrorKind
from coterie.fleet.selectors import Shown
from coterie.gateway.door.body import BodyReader, Event, Receive
from coterie.gateway.door.certificates import CERTIFICATE
from coterie.gateway.door.limits import LIMITS, Limits
from coterie.gateway.problems import CONTENT_TYPE, problem_of
from coterie_wire.errors import WireError
from coterie_wire.messages import Problem

# Any: ASGI's events are untyped dictionaries by specification.
Scope = dict[str, Any]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = "application/json"
RETRY_AFTER_S = 5
"""Seconds, for errors that do not say how long they last."""


class UnknownAddress(CoterieError):
    """The device API has nothing at this address."""

    code = "gateway.unknown_address"
    kind = ErrorKind.NOT_FOUND
    sentence = "The device API has nothing at {method} {path}."


class CredentialMissing(CoterieError):
    """The request has no device credential."""

    code = "gateway.credential_missing"
    kind = ErrorKind.UNAUTHENTICATED
    sentence = "Send the device's credential in the header: Authorization: Bearer CREDENTIAL."


class Disconnected(Exception):
    """The client disconnected in the middle of its request; no answer can be sent."""


class Request:
    """A request's head and the stream of its body."""

    def __init__(self, scope: Scope, receive: Receive, *, limits: Limits = LIMITS) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self._reader = BodyReader(receive, limits)
        self.address = client_address(scope)
        self._certificate: str = scope.get(CERTIFICATE, "")

    def header(self, name: str) -> str | None:
        """A header's value; `name` in small letters."""
        value = self._headers.get(name.encode())
        return None if value is None else value.decode("latin-1")

    def shown(self) -> Shown:
        """The credential and certificate that the device presents. Raises CredentialMissing."""
        return Shown(bearer(self.header("authorization")), self._certificate)

    def drawn_credential(self) -> str:
        """The credential that a device shows which has not joined yet; blank: it shows none, or a proxy's password."""
        try:
            return self.shown().credential
        except CredentialMissing:
            return ""

    @property
    def body_bytes(self) -> int | None:
        """As declared; None where the length is unknown."""
        declared = self.header("content-length")
        if declared is not None and declared.isdecimal():
            return int(declared[:19])
        return 0 if self.header("transfer-encoding") is None else None

    async def body(self, *, limit_bytes: int) -> bytes:
        """The whole body. Raises WireError ``wire.too_large`` as soon as it is longer, and what `chunks` raises."""
        if (self.body_bytes or 0) > limit_bytes:
            raise WireError("wire.too_large", f"the body is longer than {limit_bytes} bytes")
        parts: list[bytes] = []
        size_bytes = 0
        async for part in self.chunks():
            size_bytes += len(part)
            if size_bytes > limit_bytes:
                raise WireError("wire.too_large", f"the body is longer than {limit_bytes} bytes")
            parts.append(part)
        return b"".join(parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. Raises BodyStalled, BodySlow or Disconnected."""
        more = True
        while more:
            event = await self._reader.next()
            if event["type"] == "http.disconnect":
                raise Disconnected
            yield event.get("body", b"")
            more = event.get("more_body", False)


def client_address(scope: Scope) -> str:
    """The address of a request's or socket's client; blank: a local one."""
    client = scope.get("client")
    return str(client[0]) if client else ""


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


def retry_after(problem: Problem) -> Mapping[str, str]:
    """The header with the time of the next attempt, where an error has one."""
    if problem.status not in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        return {}
    return {"retry-after": str(problem.fields.get("wait_s", RETRY_AFTER_S))}


async def reply_with_problem(send: Send, error: Exception) -> None:
    """Answer with the problem, and close the connection: the rest of a refused body is not needed."""
    problem = problem_of(error)
    headers = {"connection": "close"}
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    headers |= retry_after(problem)
    await reply(
        send,
        msgspec.json.encode(problem),
        status=HTTPStatus(problem.status),
        content_type=CONTENT_TYPE,
        headers=headers,
    )
