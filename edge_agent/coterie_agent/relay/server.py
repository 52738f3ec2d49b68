"""The door for other devices: ``POST`` to one path, sealed both ways, so that it needs no certificate."""

import logging
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from coterie_agent.bounded_server import BoundedServer
from coterie_agent.errors import AgentError, Exit
from coterie_wire.errors import WireError

MAX_BODY_BYTES = 18 << 20
"""A chunk at its largest, its ticket and its seal."""
MAX_CONNECTIONS = 32
READ_S = 60.0
"""How long a request may take to arrive, however steadily its bytes come."""
_IDLE_S = 10
logger = logging.getLogger(__name__)


class RelayServer(BoundedServer):
    """Answers other devices; who finds no place is told nothing, and comes back."""

    read_s = READ_S
    failed = "a neighbour's request failed"

    def __init__(
        self, port: int, receive: Callable[[bytes], bytes], *, path: str, max_body_bytes: int = MAX_BODY_BYTES
    ) -> None:
        """Raises AgentError ``relay.port_taken``."""
        self.bound(MAX_CONNECTIONS)
        try:
            super().__init__(("0.0.0.0", port), partial(_Handler, receive, path, max_body_bytes))  # noqa: S104 - neighbours call it
        except OSError as error:
            detail = f"port {port} for neighbours: {error.strerror}; choose another in agent.toml"
            raise AgentError("relay.port_taken", detail, exit_code=Exit.BAD_CONFIG) from error


class _Handler(BaseHTTPRequestHandler):
    timeout = _IDLE_S
    server_version = "coterie-agent"

    def __init__(self, receive: Callable[[bytes], bytes], path: str, max_body_bytes: int, *connection: object) -> None:
        self._receive, self._path, self._max_body_bytes = receive, path, max_body_bytes
        super().__init__(*connection)  # type: ignore[arg-type]  # socket, address, server, as the server passes them

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if self.path != self._path or not length.isdecimal() or len(length) > 9 or int(length) > self._max_body_bytes:
            self._answer(HTTPStatus.BAD_REQUEST, b"")
            return
        try:
            answer = self._receive(self.rfile.read(int(length)))
        except WireError as error:
            logger.warning("a neighbour was turned away: %s [%s]", error.detail, error.code)
            self._answer(HTTPStatus.FORBIDDEN, b"")
        except OSError as error:
            logger.warning("a neighbour's update cannot be stored: %s", error)
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, b"")
        else:
            self._answer(HTTPStatus.OK, answer)

    def _answer(self, status: HTTPStatus, content: bytes) -> None:
        self.close_connection = status is not HTTPStatus.OK  # a body may be left unread
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # the name is the standard library's
        """Log nothing: neighbours call many times an update."""
