"""What an HTTP server of the agent serves: pages and routes, with bounds on what is read and errors that have codes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeVar

import msgspec

from coterie_agent.bounded_server import BoundedHandler, BoundedServer, at_fault
from coterie_agent.errors import AgentError, Exit
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.messages import Problem
from coterie_wire.structs import from_json

T = TypeVar("T", bound=msgspec.Struct)
Route = Callable[[bytes], msgspec.Struct | msgspec.Raw]
"""Computes the answer to a request's body. Raises RequestError, AgentError or WireError."""
MAX_BODY_BYTES = 8 << 20
MAX_CONNECTIONS = 32
"""Simultaneous connections; each has a thread."""
_LONGEST_LENGTH = 20
"""Digits of a Content-Length that are read; a number of so many digits is too large in any case."""
_IDLE_S = 10
COME_BACK_S = {HTTPStatus.SERVICE_UNAVAILABLE: 1, HTTPStatus.TOO_MANY_REQUESTS: 60}
"""By status, the seconds after which the same request may succeed (``Retry-After``)."""


class RequestError(Exception):
    """A request that is refused before it reaches the device's data."""

    def __init__(self, status: HTTPStatus, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail


@dataclass(frozen=True)
class Page:
    """A static file of a page for people; it holds nothing of the device."""

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
"""No other page may show it in a frame, see its address as referrer or load its files."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """What a server serves."""

    routes: Mapping[str, Route]
    """By method and path: ``GET /status``."""
    pages: Mapping[str, Page] = field(default_factory=dict)
    """By method and path, the files served without authorisation."""
    failed: HTTPStatus = HTTPStatus.CONFLICT
    """The status where the device cannot do now what is asked; refused data is answered with 422."""
    keeps_connections: bool = False
    """Whether a connection carries one request after another (HTTP/1.1)."""
    connections: int = MAX_CONNECTIONS


class SiteHandler(BoundedHandler):
    """Answers requests to a `Site`; a subclass authorises them."""

    timeout = _IDLE_S
    wbufsize = -1  # head and body in one packet; in two, the second waits for the other side's delayed acknowledgement
    server: BoundedServer
    server_version = "coterie-agent"

    def __init__(self, site: Site, *connection: object) -> None:
        self.site = site
        if site.keeps_connections:
            self.protocol_version = "HTTP/1.1"
        super().__init__(*connection)  # type: ignore[arg-type]  # socket, address, server, as the server passes them

    def handle_one_request(self) -> None:
        if self.site.keeps_connections and not self.rfile.peek(1):  # type: ignore[attr-defined]  # it is buffered
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
            self.check_origin()
            page = self.site.pages.get(f"{self.command} {self.path}")
            if page is not None:
                self.body()
                self._send(HTTPStatus.OK, page.content, page.content_type, PAGE_HEADERS)
            else:
                self.serve()
        except (RequestError, AgentError, WireError) as error:
            self._refuse(status_of(error, failed=self.site.failed), error.code, error.detail)

    def check_origin(self) -> None:
        """Raises RequestError where the request comes from another site's page, or for another host name."""
        raise NotImplementedError

    def authorise(self) -> None:
        """Raises RequestError where the client may see only pages."""
        raise NotImplementedError

    def serve(self) -> None:
        """Answer a request for a route. Raises as a `Route` does."""
        self.authorise()
        route = self.site.routes.get(f"{self.command} {self.path}")
        if route is None:
            raise RequestError(HTTPStatus.NOT_FOUND, "local_api.unknown_path", f"nothing is at {self.path}")
        self.answer(route(self.body()))

    def body(self) -> bytes:
        """The request's body. Raises RequestError ``local_api.no_length`` or ``local_api.too_large``."""
        given = self.headers.get("Content-Length", "0")
        if not given.isdecimal() or "Transfer-Encoding" in self.headers:
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, "local_api.no_length", "send a Content-Length")
        length = int(given[:_LONGEST_LENGTH])  # int() takes 4,300 digits at most
        check_length(length)
        body = self.rfile.read(length)
        self.server.has_arrived(self.connection)
        return body

    def _refuse(self, status: HTTPStatus, code: str, detail: str) -> None:
        if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            self.close_connection = True  # a body may be left unread
        problem = Problem(code=code, title=status.phrase, status=status, detail=detail)
        self._send(status, msgspec.json.encode(problem), "application/problem+json", {})

    def answer(self, body: msgspec.Struct | msgspec.Raw, **headers: str) -> None:
        """Send `body` as the answer."""
        self._send(HTTPStatus.OK, msgspec.json.encode(body), "application/json", headers)

    def _send(self, status: HTTPStatus, content: bytes, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        if status in COME_BACK_S:
            self.send_header("Retry-After", str(COME_BACK_S[status]))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer a request that the standard library refuses."""
        status = at_fault(code)
        self.request_version = self.protocol_version  # else it answers in the one that it did not understand
        self._refuse(status, "local_api.malformed", message or status.description)

    def log_message(self, format: str, *args: object) -> None:  # the name is the standard library's
        """Log nothing: these are requests of the owner's own programs."""


def check_length(length: int) -> None:
    """Raises RequestError ``local_api.too_large`` where a body of `length` bytes is not read."""
    if length > MAX_BODY_BYTES:
        detail = f"a longer body than the {MAX_BODY_BYTES} bytes that are read"
        raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "local_api.too_large", detail)


def status_of(error: RequestError | AgentError | WireError, *, failed: HTTPStatus) -> HTTPStatus:
    """The status of an answer to `error`; `failed`: the one where the device cannot do now what is asked."""
    if isinstance(error, RequestError):
        return error.status
    is_data = isinstance(error, AgentError) and error.exit_code is Exit.BAD_DATA
    return HTTPStatus.UNPROCESSABLE_ENTITY if is_data else failed


def decode(body: bytes, request: type[T]) -> T:
    """The body, decoded as `request`. Raises RequestError ``local_api.malformed``."""
    try:
        return from_json(body, request)
    except UNREADABLE as error:
        raise RequestError(HTTPStatus.BAD_REQUEST, "local_api.malformed", str(error)) from error
