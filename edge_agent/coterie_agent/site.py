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
"""Makes the answer of a request's body. Raises RequestError, AgentError or WireError."""
MAX_BODY_BYTES = 8 << 20
MAX_CONNECTIONS = 32
"""Connections at once; each has a thread."""
_LONGEST_LENGTH = 20
"""Digits of a Content-Length that are read; so many are too large already."""
_IDLE_S = 10
COME_BACK_S = {HTTPStatus.SERVICE_UNAVAILABLE: 1, HTTPStatus.TOO_MANY_REQUESTS: 60}
"""By what is answered, after how many seconds the same may succeed."""


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
    """What a server serves."""

    routes: Mapping[str, Route]
    """By method and path: ``GET /status``."""
    pages: Mapping[str, Page] = field(default_factory=dict)
    """By method and path, what is served to whoever asks."""
    failed: HTTPStatus = HTTPStatus.CONFLICT
    """The answer to what the device cannot do now, but for data that it refuses (422)."""
    keeps_connections: bool = False
    """Whether a connection carries one request after another (HTTP/1.1)."""
    connections: int = MAX_CONNECTIONS


class SiteHandler(BoundedHandler):
    """Answers for a `Site`; a subclass says who may ask."""

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
            self.check_whose_page()
            page = self.site.pages.get(f"{self.command} {self.path}")
            if page is not None:
                self.body()
                self._send(HTTPStatus.OK, page.content, page.content_type, PAGE_HEADERS)
            else:
                self.serve()
        except (RequestError, AgentError, WireError) as error:
            self._refuse(status_of(error, failed=self.site.failed), error.code, error.detail)

    def check_whose_page(self) -> None:
        """Raises RequestError where another page, or a name that is not this server's, is behind the request."""
        raise NotImplementedError

    def authorise(self) -> None:
        """Raises RequestError where who asks may see no more than pages."""
        raise NotImplementedError

    def serve(self) -> None:
        """Answer what is no page. Raises as a `Route` does."""
        self.authorise()
        route = self.site.routes.get(f"{self.command} {self.path}")
        if route is None:
            raise RequestError(HTTPStatus.NOT_FOUND, "local_api.unknown_path", f"nothing is at {self.path}")
        self.answer(route(self.body()))

    def body(self) -> bytes:
        """What the request brings. Raises RequestError ``local_api.no_length`` or ``local_api.too_large``."""
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
        """What was asked for."""
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
        """What the standard library refuses."""
        status = at_fault(code)
        self.request_version = self.protocol_version  # else it answers in the one that it did not understand
        self._refuse(status, "local_api.malformed", message or status.description)

    def log_message(self, format: str, *args: object) -> None:  # the name is the standard library's
        """Log nothing: these are requests of the owner's own programs."""


def check_length(length: int) -> None:
    """Whether a body of so many bytes is read. Raises RequestError ``local_api.too_large``."""
    if length > MAX_BODY_BYTES:
        detail = f"a longer body than the {MAX_BODY_BYTES} bytes that are read"
        raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "local_api.too_large", detail)


def status_of(error: RequestError | AgentError | WireError, *, failed: HTTPStatus) -> HTTPStatus:
    """Of the answer to what ended in `error`; `failed`: where the device cannot do now what is asked."""
    if isinstance(error, RequestError):
        return error.status
    is_data = isinstance(error, AgentError) and error.exit_code is Exit.BAD_DATA
    return HTTPStatus.UNPROCESSABLE_ENTITY if is_data else failed


def decode(body: bytes, request: type[T]) -> T:
    """The request that a body stands for. Raises RequestError ``local_api.malformed``."""
    try:
        return from_json(body, request)
    except UNREADABLE as error:
        raise RequestError(HTTPStatus.BAD_REQUEST, "local_api.malformed", str(error)) from error
