"""HTTP for programs on this device alone: threads and time are bounded, and pages of other sites are kept out."""

import hmac
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar

import msgspec

from coterie_agent.bounded_server import BoundedHandler, BoundedServer, Request, at_fault
from coterie_agent.errors import AgentError, Exit
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.messages import Problem
from coterie_wire.structs import from_json

T = TypeVar("T", bound=msgspec.Struct)
Route = Callable[[bytes], msgspec.Struct | msgspec.Raw]
"""Makes the answer of a request's body. Raises RequestError, AgentError or WireError."""
MAX_BODY_BYTES = 8 << 20
MAX_CONNECTIONS = 32
"""Connections at once; each has a thread."""
READ_S = 30.0
"""How long a request may take to arrive, however steadily its bytes come."""
_IDLE_S = 10
_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class Address(msgspec.Struct, frozen=True):
    """Where programs on this device find a server, as its file says."""

    url: str
    token: str
    socket: str = ""
    """Path of a Unix socket that answers the same, without the token; blank: there is none."""


class RequestError(Exception):
    """A request that is refused before it reaches the device's data."""

    def __init__(self, status: HTTPStatus, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail


@dataclass(frozen=True)
class Page:
    """A file of a page that people open: it is the same for everybody, and holds nothing of the device."""

    content: bytes
    content_type: str


PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""No other page shows it in a frame, learns its address or loads its files."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """What a server serves, and to whom."""

    routes: Mapping[str, Route]
    """By method and path: ``GET /status``."""
    token: str | None
    """What requests must carry; None: whoever can open the Unix socket may ask, which its file's mode decides."""
    pages: Mapping[str, Page] = field(default_factory=dict)
    """By method and path, what is served without the token, which the page itself sends."""
    failed: HTTPStatus = HTTPStatus.CONFLICT
    """The answer to what the device cannot do now, but for data that it refuses (422)."""
    keeps_connections: bool = False
    """Whether a connection carries one request after another (HTTP/1.1)."""
    connections: int = MAX_CONNECTIONS


class LoopbackServer(BoundedServer):
    """Answers programs on this device alone; who finds no place is told to come back (503)."""

    read_s = READ_S
    failed = "a request of the local API failed"

    def __init__(self, site: Site, *, port: int) -> None:
        """Listen on 127.0.0.1. Raises OSError."""
        self.bound(site.connections)
        super().__init__(("127.0.0.1", port), partial(_Handler, site))

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
        ThreadingHTTPServer.__init__(self, path, partial(_Handler, site))  # type: ignore[arg-type]  # a path is meant

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


class _Handler(BoundedHandler):
    timeout = _IDLE_S
    wbufsize = -1  # head and body in one packet; in two, the second waits for the other side's delayed acknowledgement
    server: LoopbackServer
    server_version = "coterie-agent"

    def __init__(self, site: Site, *connection: object) -> None:
        self._site = site
        if site.keeps_connections:
            self.protocol_version = "HTTP/1.1"
        super().__init__(*connection)  # type: ignore[arg-type]  # socket, address, server, as the server passes them

    def handle_one_request(self) -> None:
        if self._site.keeps_connections and not self.rfile.peek(1):  # type: ignore[attr-defined]  # it is buffered
            self.close_connection = True  # the other side has closed it, between two requests
            return
        self.server.arrives(self.connection)
        super().handle_one_request()

    def do_GET(self) -> None:  # noqa: N802 - the standard library's
        self._handle()

    def do_POST(self) -> None:  # noqa: N802 - the standard library's
        self._handle()

    def _handle(self) -> None:
        try:
            self._check_whose_page()
            page = self._site.pages.get(f"{self.command} {self.path}")
            if page is not None:
                self._body()
                self._send(HTTPStatus.OK, page.content, page.content_type, PAGE_HEADERS)
                return
            self._authorise()
            route = self._site.routes.get(f"{self.command} {self.path}")
            if route is None:
                raise RequestError(HTTPStatus.NOT_FOUND, "local_api.unknown_path", f"nothing is at {self.path}")
            self._answer(HTTPStatus.OK, route(self._body()))
        except RequestError as error:
            self._refuse(error.status, error.code, error.detail)
        except AgentError as error:
            is_data = error.exit_code is Exit.BAD_DATA
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY if is_data else self._site.failed, error.code, error.detail)
        except WireError as error:
            self._refuse(self._site.failed, error.code, error.detail)

    def _check_whose_page(self) -> None:
        """A Host that names this machine: a page whose name was rebound to 127.0.0.1 carries its own.

        And no other page's Origin, which browsers send with what may change something.
        """
        if self._site.token is None:
            return
        host = self.headers.get("Host", "")
        if host.rpartition(":")[0] not in ("127.0.0.1", "localhost"):
            raise RequestError(HTTPStatus.FORBIDDEN, "local_api.foreign_host", "the Host header must name 127.0.0.1")
        if self.headers.get("Origin", f"http://{host}") != f"http://{host}":
            raise RequestError(HTTPStatus.FORBIDDEN, "local_api.foreign_origin", "another page asks for this")

    def _authorise(self) -> None:
        if self._site.token is None:
            return
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._site.token.encode()):
            detail = "send the token of the file beside the agent's settings as: Authorization: Bearer TOKEN"
            raise RequestError(HTTPStatus.UNAUTHORIZED, "local_api.unauthorised", detail)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or "Transfer-Encoding" in self.headers:
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, "local_api.no_length", "send a Content-Length")
        if len(length) > len(str(MAX_BODY_BYTES)) or int(length) > MAX_BODY_BYTES:  # int() takes 4,300 digits at most
            detail = f"a body of {length[:20]} bytes; at most {MAX_BODY_BYTES} are read"
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "local_api.too_large", detail)
        body = self.rfile.read(int(length))
        self.server.has_arrived(self.connection)
        return body

    def _refuse(self, status: HTTPStatus, code: str, detail: str) -> None:
        if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            self.close_connection = True  # a body may be left unread
        problem = Problem(code=code, title=status.phrase, status=status, detail=detail)
        self._answer(status, problem, content_type="application/problem+json")

    def _answer(
        self, status: HTTPStatus, body: msgspec.Struct | msgspec.Raw, *, content_type: str = "application/json"
    ) -> None:
        self._send(status, msgspec.json.encode(body), content_type, {})

    def _send(self, status: HTTPStatus, content: bytes, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", "1")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """What the standard library refuses."""
        status = at_fault(code)
        self.request_version = self.protocol_version  # else it answers in the one that it did not understand
        self._refuse(status, "local_api.malformed", message or status.description)

    def log_message(self, format: str, *args: object) -> None:  # the name is the standard library's
        """Log nothing: these are requests of the owner's own programs."""


def decode(body: bytes, request: type[T]) -> T:
    """The request that a body stands for. Raises RequestError ``local_api.malformed``."""
    try:
        return from_json(body, request)
    except UNREADABLE as error:
        raise RequestError(HTTPStatus.BAD_REQUEST, "local_api.malformed", str(error)) from error
