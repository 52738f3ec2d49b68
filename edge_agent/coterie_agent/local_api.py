"""The local API: programs on this device add samples and ask for predictions, on 127.0.0.1 and with a local token."""

import hmac
import logging
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
from msgspec import Meta

from coterie_agent.blobs import BlobCache
from coterie_agent.config import Config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, write_private
from coterie_agent.ingest.row import JsonRow, RowCheck
from coterie_agent.link.failure import FETCHED_ANEW
from coterie_agent.report import Report, make_report
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.messages import Problem
from coterie_wire.structs import from_json

if TYPE_CHECKING:
    from coterie_agent.predicting import HeldModel, Output, Prediction

T = TypeVar("T", bound=msgspec.Struct)
_Request = socket.socket | tuple[bytes, socket.socket]
"""As the standard library types it; of TCP it is the first."""
MAX_BODY_BYTES = 8 << 20
MAX_CONNECTIONS = 32
"""Requests at once; each has a thread."""
READ_S = 30.0
"""How long a request may take to arrive, however steadily its bytes come."""
_IDLE_S = 10
_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
logger = logging.getLogger(__name__)


class Address(msgspec.Struct, frozen=True):
    """The content of local-api.json, for programs on this device."""

    url: str
    token: str


class AddSamples(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /samples``."""

    samples: Annotated[list[JsonRow], Meta(min_length=1)]


class Added(msgspec.Struct, frozen=True):
    stored: int
    """Samples of this request."""
    samples: int
    """Samples on the device now."""


class Predict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``POST /predict``."""

    samples: Annotated[list[JsonRow], Meta(min_length=1, max_length=10_000)]


class Predicted(msgspec.Struct, frozen=True):
    version: str
    """Model version that the device holds."""
    personal: bool
    """Whether the device's personal model predicted, or the version itself."""
    predictions: "list[Prediction | Output]"


class RequestError(Exception):
    """A request that is refused before it reaches the device's data."""

    def __init__(self, status: HTTPStatus, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail


@dataclass(kw_only=True)
class LocalApi:
    """What the routes do."""

    home: Home
    config: Config
    store: Store
    blobs: BlobCache
    situation: Situation
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: "HeldModel | None" = None

    def add_samples(self, body: bytes) -> Added:
        request = _decode(body, AddSamples)
        model = self.situation.now.model
        check = RowCheck.of_model(model) if model else RowCheck(self.store.samples.widths())
        rows = [check.row(f"sample {index}", row.x, row.y) for index, row in enumerate(request.samples)]
        stored = self.store.samples.add(rows, max_samples=self.config.max_samples, one_width=check.one_width)
        return Added(stored=stored, samples=self.store.samples.count())

    def predict(self, body: bytes) -> Predicted:
        request = _decode(body, Predict)
        with self._lock:
            if self._held is None or not self._is_newest(self._held):
                self._held = self._load()
            held = self._held
        check = RowCheck.of_model(held.manifest.model, labelled=False)
        rows = [check.row(f"sample {index}", row.x, None) for index, row in enumerate(request.samples)]
        return Predicted(version=held.manifest.version, personal=held.is_personal, predictions=held.predict(rows))

    def _is_newest(self, held: "HeldModel") -> bool:
        version = self.situation.now.version
        return held.manifest.version == version and held.stored == self.store.peers.personal()

    def _load(self) -> "HeldModel":
        from coterie_agent.predicting import load_held_model  # only here, as in Worker

        try:
            return load_held_model(self.store, self.blobs, threads=self.config.threads)
        except AgentError as error:
            if error.code in FETCHED_ANEW:
                self.situation.lose_model()
            raise

    def status(self, _: bytes) -> Report:
        return make_report(self.home, self.store)


class LocalApiServer:
    """Serves a `LocalApi` from threads of its own."""

    def __init__(self, api: LocalApi) -> None:
        """Listen, and write address and token to local-api.json.

        Raises AgentError ``local_api.port_taken``.
        """
        try:
            self._server = _Server(("127.0.0.1", api.config.local_api_port), partial(_Handler, api))
        except OSError as error:
            detail = (
                f"port {api.config.local_api_port} of the local API: {error.strerror}; choose another in agent.toml"
            )
            raise AgentError("local_api.port_taken", detail, exit_code=Exit.BAD_CONFIG) from error
        self._file = api.home.local_api
        self.address = Address(url=f"http://127.0.0.1:{self._server.server_port}", token=api.token)
        write_private(self._file, msgspec.json.encode(self.address))

    def run(self) -> None:
        """Serve until `close`."""
        self._server.serve_forever(poll_interval=1.0)

    def close(self) -> None:
        self._file.unlink(missing_ok=True)
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """A thread for each of so many requests, which must arrive in a bounded time."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: Callable[..., BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._places = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._arriving: dict[_Request, float] = {}

    def process_request(self, request: _Request, client_address: object) -> None:
        assert isinstance(request, socket.socket), "this is TCP"
        if not self._places.acquire(blocking=False):
            with suppress(OSError):
                request.send(_BUSY, socket.MSG_DONTWAIT)
            self.shutdown_request(request)
            return
        self._arriving[request] = time.monotonic()
        super().process_request(request, client_address)

    def process_request_thread(self, request: _Request, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.has_arrived(request)
            self._places.release()

    def has_arrived(self, request: _Request) -> None:
        """All of it was read; its answer takes as long as it takes."""
        self._arriving.pop(request, None)

    def service_actions(self) -> None:
        """Once a second: end what has been arriving for too long."""
        for request, since in list(self._arriving.items()):
            if time.monotonic() - since > READ_S:
                assert isinstance(request, socket.socket)
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: _Request, client_address: object) -> None:  # noqa: ARG002 - the standard library's
        """Whoever asked and hung up is no error of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            logger.exception("a request of the local API failed")


class _Handler(BaseHTTPRequestHandler):
    timeout = _IDLE_S
    server: _Server
    server_version = "coterie-agent"

    def __init__(self, api: LocalApi, *connection: object) -> None:
        self._api = api
        super().__init__(*connection)  # type: ignore[arg-type]  # socket, address, server, as the server passes them

    def do_GET(self) -> None:
        self._handle({"/status": self._api.status})

    def do_POST(self) -> None:
        self._handle({"/samples": self._api.add_samples, "/predict": self._api.predict})

    def _handle(self, routes: Mapping[str, Callable[[bytes], msgspec.Struct]]) -> None:
        try:
            self._authorise()
            route = routes.get(self.path)
            if route is None:
                raise RequestError(HTTPStatus.NOT_FOUND, "local_api.unknown_path", f"nothing is at {self.path}")
            self._answer(HTTPStatus.OK, route(self._body()))
        except RequestError as error:
            self._refuse(error.status, error.code, error.detail)
        except AgentError as error:
            status = HTTPStatus.UNPROCESSABLE_ENTITY if error.exit_code is Exit.BAD_DATA else HTTPStatus.CONFLICT
            self._refuse(status, error.code, error.detail)
        except WireError as error:
            self._refuse(HTTPStatus.CONFLICT, error.code, error.detail)

    def _authorise(self) -> None:
        """The token, and a Host that names this machine: a page whose name was rebound to 127.0.0.1 carries its own."""
        host = self.headers.get("Host", "").rpartition(":")[0]
        if host not in ("127.0.0.1", "localhost"):
            raise RequestError(HTTPStatus.FORBIDDEN, "local_api.foreign_host", "the Host header must name 127.0.0.1")
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._api.token.encode()):
            detail = "send the token of local-api.json as: Authorization: Bearer TOKEN"
            raise RequestError(HTTPStatus.UNAUTHORIZED, "local_api.unauthorised", detail)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal():
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, "local_api.no_length", "send a Content-Length")
        if len(length) > len(str(MAX_BODY_BYTES)) or int(length) > MAX_BODY_BYTES:  # int() takes 4,300 digits at most
            detail = f"a body of {length[:20]} bytes; at most {MAX_BODY_BYTES} are read"
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "local_api.too_large", detail)
        body = self.rfile.read(int(length))
        self.server.has_arrived(self.connection)
        return body

    def _refuse(self, status: HTTPStatus, code: str, detail: str) -> None:
        self.close_connection = True  # a body may be left unread
        problem = Problem(code=code, title=status.phrase, status=status, detail=detail)
        self._answer(status, problem, content_type="application/problem+json")

    def _answer(self, status: HTTPStatus, body: msgspec.Struct, *, content_type: str = "application/json") -> None:
        content = msgspec.json.encode(body)
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """What the standard library refuses: an unknown method (501) and version (505) are the client's fault."""
        status = HTTPStatus(code)
        if status is HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            status = HTTPStatus.BAD_REQUEST
        self.request_version = self.protocol_version  # else it answers in the one that it did not understand
        self._refuse(status, "local_api.malformed", message or status.description)

    def log_message(self, format: str, *args: object) -> None:  # the name is the standard library's
        """Log nothing: these are requests of the owner's own programs."""


def _decode(body: bytes, request: type[T]) -> T:
    try:
        return from_json(body, request)
    except UNREADABLE as error:
        raise RequestError(HTTPStatus.BAD_REQUEST, "local_api.malformed", str(error)) from error
