"""Uvicorn's WebSocket protocol with limits: on messages that wait to be answered, and on clients that do not read."""

from asyncio import BaseTransport
from collections.abc import Callable
from functools import partial
from http import HTTPStatus

import msgspec
from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame
from websockets.http11 import Response
from websockets.protocol import OPEN
from websockets.server import ServerProtocol
from websockets.typing import StatusLike

from coterie.gateway.door.certificates import showing
from coterie.gateway.door.connections import Connections, CountedConnection
from coterie.gateway.door.limits import Limits
from coterie.gateway.door.protocol import Given
from coterie.gateway.problems import CONTENT_TYPE, problem
from coterie_wire.limit_log import LIMIT_LOG

NO_HANDSHAKE = "gateway.no_handshake"
TOO_MANY_FRAMES = "gateway.too_many_frames"


def guarded_sockets(connections: Connections, limits: Limits) -> "Callable[..., GuardedSocket]":
    """The WebSocket protocol class for uvicorn."""
    return partial(GuardedSocket, connections=connections, limits=limits)


class CodedHandshake(ServerProtocol):
    """The WebSocket protocol; an invalid handshake is refused with a problem, as everywhere else."""

    def reject(self, status: StatusLike, text: str) -> Response:
        """`text` is the library's sentence about the error."""
        response = super().reject(status, text)
        told = problem(NO_HANDSHAKE, HTTPStatus(status), text.partition("\n")[0])
        response.body = msgspec.json.encode(told)
        for name, value in (("Content-Length", str(len(response.body))), ("Content-Type", CONTENT_TYPE)):
            del response.headers[name]
            response.headers[name] = value
        return response


class GuardedSocket(WebSocketsSansIOProtocol):
    """One socket. An accepted one has presented a credential and no longer counts against its address."""

    def __init__(self, *, connections: Connections, limits: Limits, **given: Given) -> None:
        super().__init__(**given)
        self.conn = CodedHandshake(
            extensions=self.conn.available_extensions, max_size=self.config.ws_max_size, logger=self.conn.logger
        )
        self._all = connections
        self._limits = limits
        self._ticket: CountedConnection | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Count it."""
        super().connection_made(transport)
        self.app = showing(self.app, transport)
        self._ticket = self._all.enter(self.client[0] if self.client else "")

    def connection_lost(self, exc: Exception | None) -> None:
        """Count one connection less."""
        super().connection_lost(exc)
        if self._ticket is not None:
            self._ticket.give_back()

    async def send(self, message: ASGISendEvent) -> None:
        """Send the application's event."""
        await super().send(message)
        if message["type"] == "websocket.accept" and self._ticket is not None:
            self._ticket.prove()
        elif message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # uvicorn takes a refused handshake for one without an answer, and logs it
        elif self.close_timer is not None:  # a close would wait for a client that reads nothing
            self.close_timer.cancel()
            self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read: each ping is answered, and the answers would accumulate."""
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """Read again."""
        super().resume_writing()
        if not self.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    async def receive(self) -> ASGIReceiveEvent:
        """The next event; also those that arrived while reading was paused."""
        event = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            if self.writable.is_set():
                self.transport.resume_reading()
        return event

    def send_receive_event_to_app(self) -> None:
        """Queue a message, within bounds."""
        if not self.handshake_complete or self.queue.qsize() >= self._limits.socket_frames:
            self._abort()
        else:
            super().send_receive_event_to_app()

    def handle_cont(self, event: Frame) -> None:
        """Take a fragment of a message: total bytes are limited, and so is the number of fragments, as one may be
        empty.
        """
        if len(self.frames) >= self._limits.fragments:
            self._abort()
        else:
            super().handle_cont(event)

    def _abort(self) -> None:
        """Close it with a reason, if it was open; a client that does not read that is disconnected."""
        LIMIT_LOG.log(self.client[0] if self.client else "", TOO_MANY_FRAMES)
        if self.conn.state is OPEN and not self.close_sent:
            self.conn.fail(CloseCode.POLICY_VIOLATION, TOO_MANY_FRAMES)
            self.close_sent = True
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()
            self.loop.call_later(self.close_timeout, self.transport.abort)
        else:
            self.transport.abort()

    def keepalive_timeout(self) -> None:
        """A client that answers no ping reads nothing either: data still to be sent are dropped."""
        super().keepalive_timeout()
        self.transport.abort()
