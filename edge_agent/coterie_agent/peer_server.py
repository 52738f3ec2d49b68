"""The door for other devices: ``POST``, a path for each sort of call, sealed both ways, so it needs no certificate.

What a stranger sends is judged by its first line, before the rest is read: memory and time go to devices that the
platform has named.
"""

import logging
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Literal, Protocol, TypeVar

from coterie_agent.bounded_server import BoundedHandler, BoundedServer, at_fault
from coterie_agent.errors import AgentError, Exit
from coterie_wire.errors import WireError
from coterie_wire.limit_log import LIMIT_LOG

MAX_BODY_BYTES = 18 << 20
"""A chunk at its largest, its ticket and its seal."""
MAX_LINE_BYTES = 8 << 10
"""Of the first line, which says who calls."""
MAX_CONNECTIONS = 32
OF_AN_ADDRESS = MAX_CONNECTIONS // 2
"""Connections of one address, so that none takes the places of all."""
BODIES_AT_ONCE = 2
"""How many bodies at their largest are held in memory; of smaller ones as many more."""
HEAD_S = 10.0
"""How long a stranger's head and first line may take, however steadily their bytes come."""
READ_S = 60.0
"""How long the rest may take."""
_OF_A_MACHINE = 64
"""Bits that all its IPv6 addresses begin with."""
_IDLE_S = 10
_LINGER_S = 0.5
_PIECE_BYTES = 64 << 10
logger = logging.getLogger(__name__)
Caller = TypeVar("Caller")


class PeerHandler(Protocol[Caller]):
    """Answers one path of the server for other devices."""

    def admit(self, line: bytes) -> Caller:
        """Who calls, by the first line of a body. Raises WireError where it has no business here."""

    def receive(self, caller: Caller, sealed: bytes) -> bytes:
        """The sealed answer to the rest of the body. Raises WireError."""


class PeerServer(BoundedServer):
    """Answers other devices; who finds no place is told nothing, and comes back."""

    read_s = HEAD_S
    failed = "a neighbour's request failed"

    # Any: whom the handler admits it receives again, and nobody else looks at it.
    def __init__(
        self,
        port: int,
        handler: PeerHandler[Any],
        *,
        path: str,
        max_body_bytes: int = MAX_BODY_BYTES,
        beside: Mapping[str, PeerHandler[Any]] | None = None,
        table: Literal["gossip", "relay"] = "relay",
    ) -> None:
        """`beside`: other handlers, by path; `table`: of agent.toml, names the port. Raises AgentError
        ``relay.port_taken``.
        """
        handlers = {path: handler, **(beside or {})}
        self.bound(MAX_CONNECTIONS, each=OF_AN_ADDRESS)
        self.room = Room(BODIES_AT_ONCE * max_body_bytes)
        self.address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
        try:
            super().__init__(("", port), partial(_Handler, handlers, max_body_bytes))  # neighbours call it
        except OSError as error:
            detail = f"port {port} for neighbours: {error.strerror}; choose another in agent.toml, [{table}]"
            raise AgentError("relay.port_taken", detail, exit_code=Exit.BAD_CONFIG) from error

    def server_bind(self) -> None:
        """IPv4 and IPv6 alike, where the system has both."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def get_request(self) -> tuple[socket.socket, tuple[str, int]]:
        """Who calls is known by its IPv4 address, or by its network of IPv6, for a machine has all addresses of one."""
        request, (host, port, *_) = super().get_request()
        address = ip_address(host.partition("%")[0])
        if isinstance(address, IPv6Address):
            mapped = address.ipv4_mapped
            host = str(ip_network((address, _OF_A_MACHINE), strict=False) if mapped is None else mapped)
        return request, (host, port)


class NoRoom(Exception):
    """Too many bodies are held at once."""


class Room:
    """The memory that bodies may take together. Safe to use from several threads."""

    def __init__(self, limit_bytes: int) -> None:
        self._left, self._lock = limit_bytes, threading.Lock()

    @contextmanager
    def body(self) -> Iterator["Body"]:
        """One body, whose room is free again when the block ends."""
        body = Body(self)
        try:
            yield body
        finally:
            self.take(-len(body.content))

    def take(self, size_bytes: int) -> None:
        """Raises NoRoom."""
        with self._lock:
            if size_bytes > self._left:
                raise NoRoom
            self._left -= size_bytes


class Body:
    """What has arrived of one body."""

    def __init__(self, room: Room) -> None:
        self._room, self.content = room, bytearray()

    def add(self, piece: bytes) -> None:
        """Raises NoRoom."""
        self._room.take(len(piece))
        self.content += piece


class _Handler(BoundedHandler):
    timeout = _IDLE_S
    server_version = "coterie-agent"
    server: PeerServer

    def __init__(self, handlers: Mapping[str, PeerHandler[Any]], max_body_bytes: int, *connection: object) -> None:
        self._handlers, self._max_body_bytes = handlers, max_body_bytes
        super().__init__(*connection)  # type: ignore[arg-type]  # socket, address, server, as the server passes them

    def do_POST(self) -> None:  # noqa: N802 - the standard library's
        length = self.headers.get("Content-Length", "")
        handler = self._handlers.get(self.path)
        if handler is None or not length.isdecimal() or len(length) > 9 or int(length) > self._max_body_bytes:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        try:
            line = self.rfile.readline(min(int(length), MAX_LINE_BYTES))
            caller = handler.admit(line)
            self.server.arrives(self.connection, within_s=READ_S)
            with self.server.room.body() as body:
                self._read(body, int(length) - len(line))
                self._reply(handler, caller, bytes(body.content))
        except WireError as error:
            self._refuse(HTTPStatus.FORBIDDEN, error.code)
        except NoRoom:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "relay.busy")

    def _read(self, body: Body, size_bytes: int) -> None:
        while (left := size_bytes - len(body.content)) and (piece := self.rfile.read(min(left, _PIECE_BYTES))):
            body.add(piece)

    def _refuse(self, status: HTTPStatus, code: str) -> None:
        LIMIT_LOG.log(self.client_address[0], code)
        self._answer(status)
        with suppress(OSError):  # a connection that is closed with unread bytes takes the answer with it
            self.connection.settimeout(_LINGER_S)
            self.rfile.read(_PIECE_BYTES)

    def _reply(self, handler: PeerHandler[Any], caller: object, sealed: bytes) -> None:
        try:
            answer = handler.receive(caller, sealed)
        except OSError as error:
            logger.warning("a neighbour's update cannot be stored: %s", error)
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self._answer(HTTPStatus.OK, answer)

    def _answer(self, status: HTTPStatus, content: bytes = b"") -> None:
        self.close_connection = status is not HTTPStatus.OK  # a body may be left unread
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """What the standard library refuses."""
        LIMIT_LOG.log(self.client_address[0], "relay.malformed")
        self.request_version = self.protocol_version  # else it answers in the one that it did not understand
        self._answer(at_fault(code))

    def log_message(self, format: str, *args: object) -> None:  # the name is the standard library's
        """Log nothing: neighbours call many times an update."""
