"""Uvicorn's HTTP protocol within bounds: heads, pipelining, time, and connections of one address."""

import re
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, TypeAlias

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr

from coterie.gateway.door.certificates import showing
from coterie.gateway.door.connections import Connections, CountedConnection
from coterie.gateway.door.flow import WatchedTransport
from coterie.gateway.door.limits import Limits
from coterie.gateway.problems import CONTENT_TYPE, problem
from coterie_wire.limit_log import LIMIT_LOG

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
REQUEST_LINE = re.compile(rb"(?:^|\n)[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP/1\.[01]\r?\n")
SENTENCES = {
    "gateway.malformed_request": (HTTPStatus.BAD_REQUEST, "This is no HTTP request."),
    "gateway.unknown_method": (
        HTTPStatus.METHOD_NOT_ALLOWED,
        f"No address of the platform takes that method; methods are {METHODS}.",
    ),
    "gateway.head_too_large": (
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The request's line and headers are longer than is read.",
    ),
    "gateway.address_too_long": (HTTPStatus.REQUEST_URI_TOO_LONG, "The request's address is longer than is read."),
    "gateway.head_stalled": (HTTPStatus.REQUEST_TIMEOUT, "The request's headers did not come in time."),
    "gateway.too_many_pipelined": (
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many requests were sent before the first was answered.",
    ),
    "gateway.too_many_connections": (
        HTTPStatus.TOO_MANY_REQUESTS,
        "Your address has too many connections open; close some and try again.",
    ),
    "gateway.no_room": (HTTPStatus.SERVICE_UNAVAILABLE, "The platform has no room for another connection; try again."),
}
"""Refusals of what is not yet a request, by code."""
RETRY_AFTER_S = 5


Given: TypeAlias = Any
"""Any: what uvicorn passes to a protocol that it creates, by name."""


def guarded(connections: Connections, limits: Limits) -> "Callable[..., GuardedHttp]":
    """The HTTP protocol class for uvicorn."""
    return partial(GuardedHttp, connections=connections, limits=limits)


class _Refusal(Exception):
    """Stops the parser in the middle of a request."""


class GuardedHttp(HttpToolsProtocol):
    """One HTTP connection."""

    def __init__(self, *, connections: Connections, limits: Limits, **given: Given) -> None:
        super().__init__(**given)
        self._limits = limits
        self._all = connections
        self._ticket: CountedConnection | None = None
        self._address = ""
        self._refused = ""
        self._in_message = False
        self._in_head = False
        self._head_bytes = 0
        self._fields = 0
        self._unfinished_bytes = 0
        """What came since the parser last made something of it."""
        self._head_timer: TimerHandle | None = None
        self._leaving = False
        self._dropped_bytes = 0
        self._exit: WatchedTransport

    # Connection

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Count it, or refuse it where there are too many."""
        super().connection_made(transport)
        self.app = showing(self.app, transport)
        self._exit = WatchedTransport(self.loop, transport, self._limits, self._hang_up)
        remote = get_remote_addr(transport)
        self._address = remote[0] if remote else ""
        refusal = self._all.refusal(self._address)
        self._ticket = self._all.enter(self._address)
        if refusal is not None:
            self._refuse(refusal)
            transport.close()  # nothing was read yet, and there is no room
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count one connection less."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # uvicorn does not cancel the timer of a broken connection
        self._stop_head_timer()
        self._exit.relax()
        self.pipeline.clear()
        if self._ticket is not None:
            self._ticket.give_back()

    def pause_writing(self) -> None:
        """The client does not read what is sent."""
        super().pause_writing()
        self._exit.watch()

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        if not self._leaving:
            self._exit.relax()

    # Bytes

    def data_received(self, data: bytes) -> None:
        """Parse what arrived; refuse what exceeds a limit."""
        if self._leaving:
            self._dropped_bytes += len(data)
            if self._dropped_bytes > self._limits.linger_bytes:
                self.transport.abort()
            return
        self._unset_keepalive_if_required()
        self._unfinished_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
                return
        except httptools.HttpParserInvalidMethodError:
            # For other protocols, such as the first bytes of TLS, the parser reports the same.
            self._refuse("gateway.unknown_method" if REQUEST_LINE.search(data) else "gateway.malformed_request")
            return
        except httptools.HttpParserError:
            self._refuse(self._refused or "gateway.malformed_request")
            return
        if self._unfinished_bytes > self._limits.head_bytes:
            self._refuse("gateway.head_too_large")
        elif not self._in_message:
            self._await_head()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to the WebSocket protocol, which counts it itself."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._refuse("gateway.malformed_request")  # a socket cannot begin in the middle of an answer
            return
        self._stop_head_timer()
        self._exit.relax()
        if self._ticket is not None:
            self._ticket.give_back()
        super().handle_websocket_upgrade()

    # Callbacks of the parser; an exception stops it, and `data_received` refuses with the recorded code

    def on_message_begin(self) -> None:
        """Begin a request's head."""
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = self._fields = self._unfinished_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        super().on_url(url)
        if len(self.url) > self._limits.url_bytes:
            self._stop("gateway.address_too_long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers of a body are counted and dropped."""
        self._fields += 1
        self._head_bytes += len(name) + len(value)
        if self._fields > self._limits.header_fields or self._head_bytes > self._limits.head_bytes:
            self._stop("gateway.head_too_large")
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer, or queue behind the answer before."""
        self._in_head, self._in_message, self._unfinished_bytes = False, True, 0
        self._stop_head_timer()
        if len(self.pipeline) >= self._limits.pipelined:
            self._stop("gateway.too_many_pipelined")
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:  # not if a WebSocket handshake follows
            self.cycle.transport = self._exit  # type: ignore[assignment]  # it writes, closes and asks whether it has

    def on_body(self, body: bytes) -> None:
        """Pass a part of the body on."""
        self._unfinished_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for the next request."""
        self._in_message, self._unfinished_bytes = False, 0
        super().on_message_complete()

    # Answers

    def on_response_complete(self) -> None:
        """Answer the next request; read on only when none waits."""
        if self._leaving:
            self.server_state.total_requests += 1
            return
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self.pipeline or not self.cycle.response_complete:
            self.flow.pause_reading()
        elif self.cycle.more_body:  # the rest of an answered request is not needed
            self._hang_up()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's sentence is not the platform's
        """Refuse what uvicorn could not read."""
        self._refuse("gateway.malformed_request")

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that sent nothing after an answer."""
        self._hang_up()

    def _stop(self, code: str) -> None:
        self._refused = code
        raise _Refusal

    def _refuse(self, code: str) -> None:
        """Send the refusal, unless an answer is being sent, and close the connection."""
        LIMIT_LOG.log(self._address, code)
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            return
        status, sentence = SENTENCES[code]
        body = msgspec.json.encode(problem(code, status, sentence))
        head = [
            f"HTTP/1.1 {status.value} {status.phrase}",
            f"content-type: {CONTENT_TYPE}",
            f"content-length: {len(body)}",
            "connection: close",
            *([f"retry-after: {RETRY_AFTER_S}"] if status in (429, 503) else []),
            *([f"allow: {METHODS}"] if status is HTTPStatus.METHOD_NOT_ALLOWED else []),
        ]
        self._exit.write("\r\n".join([*head, "", ""]).encode() + body)
        self._in_message = True
        self._hang_up()

    def _hang_up(self) -> None:
        """Close the connection when all is sent.

        Where a request is unfinished, its rest is read and dropped for a while: a close would make the other side's
        system discard the answer that it has not read yet (RFC 9112, 9.6).
        """
        if self._leaving or self.transport.is_closing():
            return
        self._leaving = True
        self._unset_keepalive_if_required()
        self._stop_head_timer()
        self.pipeline.clear()
        self._exit.watch()
        unfinished = self._in_message or self._in_head
        if not unfinished or not self.transport.can_write_eof():
            self.transport.close()
            return
        try:
            self.transport.write_eof()
        except OSError:  # the other side has disconnected already
            self.transport.abort()
            return
        self.flow.resume_reading()
        self._head_timer = self.loop.call_later(self._limits.linger_s, self.transport.close)

    # The time limit of a head

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._limits.head_s, self._head_is_late)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._await_head()  # the connection is not being read at the moment
        elif self._in_head:
            self._refuse("gateway.head_stalled")
        else:
            self._hang_up()
