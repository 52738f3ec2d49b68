"""HTTP for programs on this device alone: threads and time are bounded, and pages of other sites are kept out."""

import hmac
import socket
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from pathlib import Path

import msgspec

from coterie_agent.bounded_server import BoundedServer, Request
from coterie_agent.site import RequestError, Site, SiteHandler

READ_S = 30.0
"""How long a request may take to arrive, however steadily its bytes come."""
_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


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
            request.send(_BUSY, socket.MSG_DONTWAIT)


class UnixServer(LoopbackServer):
    """The same on a Unix socket, which only its owner can open."""

    address_family = socket.AF_UNIX

    def __init__(self, site: Site, path: str) -> None:
        """Replace what an earlier server left at `path`. Raises OSError, also where `path` is too long for a socket."""
        self.bound(site.connections)
        self._path = Path(path)
        self._path.unlink(missing_ok=True)
        ThreadingHTTPServer.__init__(self, path, partial(_Handler, None, site))  # type: ignore[arg-type]  # a path is meant

    def server_bind(self) -> None:
        """The file is its owner's alone before anybody can connect."""
        self.socket.bind(str(self._path))
        self._path.chmod(0o600)
        self.server_name, self.server_port = "localhost", 0

    def get_request(self) -> tuple[socket.socket, tuple[str, int]]:
        """Callers on a Unix socket have no address."""
        connection, _ = self.socket.accept()
        return connection, ("", 0)

    def server_close(self) -> None:
        super().server_close()
        self._path.unlink(missing_ok=True)


class _Handler(SiteHandler):
    def __init__(self, token: str | None, site: Site, *connection: object) -> None:
        """`token`; None: whoever can open the Unix socket may ask, which its file's mode decides."""
        self._token = token
        super().__init__(site, *connection)

    def check_whose_page(self) -> None:
        """A Host that names this machine: a page whose name was rebound to 127.0.0.1 carries its own.

        And no other page's Origin, which browsers send with what may change something.

        Raises RequestError ``local_api.foreign_host`` or ``local_api.foreign_origin``.
        """
        if self._token is None:
            return
        host = self.headers.get("Host", "")
        if host.rpartition(":")[0] not in ("127.0.0.1", "localhost"):
            raise RequestError(HTTPStatus.FORBIDDEN, "local_api.foreign_host", "the Host header must name 127.0.0.1")
        if self.headers.get("Origin", f"http://{host}") != f"http://{host}":
            raise RequestError(HTTPStatus.FORBIDDEN, "local_api.foreign_origin", "another page asks for this")

    def authorise(self) -> None:
        """Raises RequestError ``local_api.unauthorised``."""
        if self._token is None:
            return
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            detail = "send the token of the file beside the agent's settings as: Authorization: Bearer TOKEN"
            raise RequestError(HTTPStatus.UNAUTHORIZED, "local_api.unauthorised", detail)
