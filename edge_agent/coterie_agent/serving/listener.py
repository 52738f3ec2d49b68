"""HTTP for programs on this device, on one thread that also predicts, which avoids switching between threads."""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

import h11
import msgspec

from coterie_agent.bounded_server import MAX_HEAD_BYTES
from coterie_agent.errors import AgentError
from coterie_agent.loopback import BUSY, READ_S, check_host, check_token
from coterie_agent.site import COME_BACK_S, RequestError, check_length, status_of
from coterie_wire.errors import WireError
from coterie_wire.messages import Problem

log = logging.getLogger(__name__)
Route = Callable[[bytes], Coroutine[Any, Any, msgspec.Struct | msgspec.Raw]]
"""Computes the answer to a request's body. Raises RequestError, AgentError or WireError."""
IDLE_S = 10.0
"""Seconds that a connection stays open without a request."""
_GRACE_S = 2.0
"""Seconds for pending answers when the listener closes."""
_SWEEP_S = 1.0
_BACKLOG = 128
_FAILED = HTTPStatus.SERVICE_UNAVAILABLE
"""The status where the device cannot do now what is asked."""


class PredictionListener:
    """Listens on 127.0.0.1 and optionally on a Unix socket, whose file mode replaces the token."""

    def __init__(
        self,
        routes: Mapping[str, Route],
        *,
        token: str,
        connections: int,
        tcp: socket.socket,
        unix: socket.socket | None,
    ) -> None:
        """`routes`: by method and path. `connections`: simultaneous ones; more are refused with ``Retry-After``."""
        self.routes, self.connections = routes, connections
        self.open: set[Connection] = set()
        self.loop = asyncio.new_event_loop()
        self._token, self._tcp, self._unix = token, tcp, unix
        self._ended = asyncio.Event()

    def run(self) -> None:
        """Serve until `close`, then finish pending answers."""
        try:
            self.loop.run_until_complete(self._serve())
        finally:
            self.loop.close()

    def close(self) -> None:
        """End `run`, from any thread."""
        with suppress(RuntimeError):  # the loop has ended already
            self.loop.call_soon_threadsafe(self._ended.set)

    async def _serve(self) -> None:
        servers = [await self.loop.create_server(partial(Connection, self, self._token), sock=self._tcp)]
        if self._unix is not None:
            servers.append(await self.loop.create_unix_server(partial(Connection, self, None), sock=self._unix))
        while not self._ended.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _SWEEP_S)
            for connection in [one for one in self.open if one.until < self.loop.time()]:
                connection.abort()
        for server in servers:
            server.close()
        answering = [one.answering for one in self.open if one.answering is not None]
        if answering:
            await asyncio.wait(answering, timeout=_GRACE_S)
        for connection in list(self.open):
            connection.end()
        while self.open:
            await asyncio.sleep(0)


class Connection(asyncio.Protocol):
    """One program's connection, with one request after another."""

    def __init__(self, listener: PredictionListener, token: str | None) -> None:
        """`token` None: any program that can open the Unix socket is authorised."""
        self._listener, self._token = listener, token
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._request: h11.Request | None = None
        """The request that is arriving."""
        self._body = bytearray()
        self._is_arriving = False
        self._may_write = True
        self.answering: asyncio.Task[None] | None = None
        self.until = listener.loop.time() + IDLE_S
        """When it is closed, on the loop's clock."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if len(self._listener.open) >= self._listener.connections:
            self._transport.write(BUSY)
            self._transport.close()
        else:
            self._listener.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Cancel the answer, as the program has disconnected."""
        self._listener.open.discard(self)
        if self.answering is not None:
            self.answering.cancel()

    def data_received(self, data: bytes) -> None:
        self._http.receive_data(data)
        if self.answering is not None:
            self._transport.pause_reading()  # further data waits in the kernel until this answer is sent
            return
        if not self._is_arriving:
            self._is_arriving, self.until = True, self._listener.loop.time() + READ_S
        self._next_request()

    def pause_writing(self) -> None:
        """Pause, as the other side does not read its answers."""
        self._may_write = False

    def resume_writing(self) -> None:
        self._may_write = True
        if self.answering is None:
            self._next_request()

    def abort(self) -> None:
        """Close a connection that was idle, or whose request was arriving, for too long."""
        self._transport.abort()

    def end(self) -> None:
        """Close the connection; answers that the other side has not read are dropped."""
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()

    def _next_request(self) -> None:
        """Begin to answer the next request, if it has arrived."""
        if not self._may_write or self._transport.is_closing():
            return
        try:
            request = self._arrived()
        except h11.RemoteProtocolError as error:
            status = HTTPStatus(error.error_status_hint)
            self._refuse(RequestError(status, "local_api.malformed", str(error)))
        except RequestError as error:
            self._refuse(error)
        else:
            if request is not None:
                self.until = float("inf")
                self.answering = self._listener.loop.create_task(self._answer(request))

    def _arrived(self) -> h11.Request | None:
        """The next request, once its body has arrived; None: not yet.

        Raises h11.RemoteProtocolError, or RequestError ``local_api.too_large``.
        """
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Request):
                self._request = event
                self._body.clear()
            elif isinstance(event, h11.Data):
                self._body += event.data
                check_length(len(self._body))
            elif isinstance(event, h11.EndOfMessage):
                return self._request
            else:
                if self._http.they_are_waiting_for_100_continue:
                    leave = HTTPStatus.CONTINUE
                    self._send(h11.InformationalResponse(status_code=leave, reason=leave.phrase, headers=[]))
                return None

    def _refuse(self, error: RequestError) -> None:
        """Answer with the error and close, as the start of the next request is not known."""
        self._write(error.status, _problem(error.status, error), keeps=False)

    async def _answer(self, request: h11.Request) -> None:
        try:
            self._authorise(request)
            route = self._listener.routes.get(f"{request.method.decode()} {request.target.decode()}")
            if route is None:
                detail = f"nothing is at {request.target.decode()}"
                raise RequestError(HTTPStatus.NOT_FOUND, "local_api.unknown_path", detail)
            status, content = HTTPStatus.OK, msgspec.json.encode(await route(bytes(self._body)))
        except (RequestError, AgentError, WireError) as error:
            status = status_of(error, failed=_FAILED)
            content = _problem(status, error)
        except Exception:  # the outermost of each request
            log.exception("a request for predictions failed")
            self._transport.abort()
            return
        self._write(status, content)
        self.answering = None
        self._is_arriving = bool(self._http.trailing_data[0])
        self.until = self._listener.loop.time() + (READ_S if self._is_arriving else IDLE_S)
        self._transport.resume_reading()
        self._next_request()

    def _authorise(self, request: h11.Request) -> None:
        """Raises RequestError."""
        if self._token is not None:
            headers = {name: value.decode("latin-1") for name, value in request.headers}
            check_host(headers.get(b"host", ""), headers.get(b"origin"))
            check_token(headers.get(b"authorization", ""), self._token)

    def _write(self, status: HTTPStatus, content: bytes, *, keeps: bool = True) -> None:
        kind = "application/json" if status is HTTPStatus.OK else "application/problem+json"
        headers = [("Content-Type", kind), ("Content-Length", str(len(content)))]
        if status in COME_BACK_S:
            headers.append(("Retry-After", str(COME_BACK_S[status])))
        if not keeps:
            headers.append(("Connection", "close"))
        answer = h11.Response(status_code=status, reason=status.phrase, headers=headers)
        self._send(answer, h11.Data(data=content), h11.EndOfMessage())
        if self._http.our_state is h11.MUST_CLOSE:
            self._transport.close()
        else:
            self._http.start_next_cycle()

    def _send(self, *events: h11.Event) -> None:
        self._transport.write(b"".join(self._http.send(event) or b"" for event in events))


def listen_tcp(port: int) -> socket.socket:
    """A socket listening on 127.0.0.1. Raises OSError."""
    return socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)


def listen_unix(path: Path) -> socket.socket:
    """A listening Unix socket, in place of an earlier one; the file is private before a program can connect.

    Raises OSError, also where `path` is too long for a socket.
    """
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def _problem(status: HTTPStatus, error: RequestError | AgentError | WireError) -> bytes:
    return msgspec.json.encode(Problem(code=error.code, title=status.phrase, status=status, detail=error.detail))
