"""HTTP for programs on this device alone: threads and time are bounded, and pages of other sites are kept out."""

import hmac
import socket
from contextlib import suppress
from functools import partial
from http import HTTPStatus

import msgspec

from coterie_agent.bounded_server import BoundedServer, Request
from coterie_agent.site import RequestError, Site, SiteHandler

READ_S = 30.0
"""How long a request may take to arrive, however steadily its bytes come."""
BUSY = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class Address(msgspec.Struct, frozen=True):
    """Where programs on this device find a server, as its file says."""

    url: str
    token: str
    socket: str = ""
    """Path of a Unix socket that answers the same, without the token; blank: there is none."""


class LoopbackServer(BoundedServer):
    """Answers programs on this device alone; who finds no place is told to come back (503)."""

    read_s = READ_S
    failed = "a request of the local API failed"

    def __init__(self, site: Site, *, token: str, port: int) -> None:
        """Listen on 127.0.0.1; requests but for pages must carry `token`. Raises OSError."""
        self.bound(site.connections)
        super().__init__(("127.0.0.1", port), partial(_Handler, token, site))

    def turn_away(self, request: Request) -> None:
        assert isinstance(request, socket.socket), "this is a stream"
        with suppress(OSError):
            request.send(BUSY, socket.MSG_DONTWAIT)


def check_host(host: str, origin: str | None) -> None:
    """A Host that names this machine: a page whose name was rebound to 127.0.0.1 carries its own.

    And no other page's Origin, which browsers send with what may change something.

    Raises RequestError ``local_api.foreign_host`` or ``local_api.foreign_origin``.
    """
    if host.rpartition(":")[0] not in ("127.0.0.1", "localhost"):
        raise RequestError(HTTPStatus.FORBIDDEN, "local_api.foreign_host", "the Host header must name 127.0.0.1")
    if origin is not None and origin != f"http://{host}":
        raise RequestError(HTTPStatus.FORBIDDEN, "local_api.foreign_origin", "another page asks for this")


def check_token(authorization: str, token: str) -> None:
    """Raises RequestError ``local_api.unauthorised``."""
    scheme, _, given = authorization.rpartition(" ")
    if scheme.lower() != "bearer":  # RFC 9110, section 11.1: schemes have no case
        given = authorization
    if not hmac.compare_digest(given.encode(), token.encode()):
        detail = "send the token of the file beside the agent's settings as: Authorization: Bearer TOKEN"
        raise RequestError(HTTPStatus.UNAUTHORIZED, "local_api.unauthorised", detail)


class _Handler(SiteHandler):
    def __init__(self, token: str, site: Site, *connection: object) -> None:
        self._token = token
        super().__init__(site, *connection)

    def check_origin(self) -> None:
        """Raises RequestError as `check_host` does."""
        check_host(self.headers.get("Host", ""), self.headers.get("Origin"))

    def authorise(self) -> None:
        """Raises RequestError ``local_api.unauthorised``."""
        check_token(self.headers.get("Authorization", ""), self._token)
