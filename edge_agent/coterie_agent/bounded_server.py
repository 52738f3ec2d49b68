"""An HTTP server of threads, of which there are so many at most, and whose requests must arrive in a bounded time."""

import logging
import socket
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from http import HTTPStatus
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import ClassVar

Request = socket.socket | tuple[bytes, socket.socket]
"""As the standard library types it; of TCP and Unix sockets it is the first."""
MAX_HEAD_BYTES = 32 << 10
"""Of a request's headers together."""
logger = logging.getLogger(__name__)


class BoundedServer(ThreadingHTTPServer):
    """A thread for each of so many connections; what is more is turned away."""

    daemon_threads = True
    read_s: ClassVar[float]
    """How long a request may take to arrive, however steadily its bytes come."""
    failed: ClassVar[str]
    """What the log says of a request that ended in an error of ours."""

    def bound(self, connections: int, *, each: int | None = None) -> None:
        """At most so many at once, and `each` of one address. Call it before anything is accepted."""
        self._most, self._each = connections, connections if each is None else each
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._deadlines: dict[Request, float] = {}

    def run(self) -> None:
        """Serve until `server_close`."""
        self.serve_forever(poll_interval=1.0)

    def process_request(self, request: Request, client_address: tuple[str, int]) -> None:
        address = client_address[0]
        with self._lock:
            has_place = self._held.total() < self._most and self._held[address] < self._each
            if has_place:
                self._held[address] += 1
        if not has_place:
            self.turn_away(request)
            self.shutdown_request(request)
            return
        self.arrives(request)
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # the system gives no thread
            self._leave(request, address)
            raise

    def process_request_thread(self, request: Request, client_address: tuple[str, int]) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._leave(request, client_address[0])

    def _leave(self, request: Request, address: str) -> None:
        self.has_arrived(request)
        with self._lock:
            self._held[address] -= 1
            if not self._held[address]:
                del self._held[address]

    def turn_away(self, request: Request) -> None:
        """Say that there is no place, before the connection is closed; nothing is said by default."""

    def arrives(self, request: Request, *, within_s: float | None = None) -> None:
        """What is awaited of a request has so many seconds from now on, or `read_s`."""
        self._deadlines[request] = time.monotonic() + (self.read_s if within_s is None else within_s)

    def has_arrived(self, request: Request) -> None:
        """Its time is bounded no longer."""
        self._deadlines.pop(request, None)

    def service_actions(self) -> None:
        """Once a second: end what has been arriving for too long."""
        for request, until in list(self._deadlines.items()):
            if time.monotonic() > until:
                assert isinstance(request, socket.socket), "this is a stream"
                with suppress(OSError):  # not TLS's own, which would take the connection from the thread that reads it
                    socket.socket.shutdown(request, socket.SHUT_RDWR)

    def handle_error(self, request: Request, client_address: object) -> None:  # noqa: ARG002 - the standard library's
        """Whoever asked and hung up is no error of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            logger.exception(self.failed)


class BoundedHandler(BaseHTTPRequestHandler):
    """Reads so much of a request's headers, where the standard library would take a hundred of 64 KiB."""

    def parse_request(self) -> bool:
        stream = self.rfile
        self.rfile = _Lines(stream)  # type: ignore[assignment]  # nothing but lines is read of it
        try:
            return super().parse_request()
        finally:
            self.rfile = stream


def at_fault(code: int) -> HTTPStatus:
    """What the standard library refuses: an unknown method (501) and version (505) are the caller's fault."""
    status = HTTPStatus(code)
    if status is HTTPStatus.NOT_IMPLEMENTED:
        return HTTPStatus.METHOD_NOT_ALLOWED
    return HTTPStatus.BAD_REQUEST if status >= HTTPStatus.INTERNAL_SERVER_ERROR else status


class _Lines:
    def __init__(self, stream: BufferedIOBase) -> None:
        self._stream, self._left = stream, MAX_HEAD_BYTES

    def readline(self, size: int) -> bytes:
        """Raises LineTooLong, which is answered with 431."""
        line = self._stream.readline(min(size, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise LineTooLong("headers")
        return line
