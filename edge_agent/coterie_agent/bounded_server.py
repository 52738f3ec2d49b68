"""An HTTP server of threads, of which there are so many at most, and whose requests must arrive in a bounded time."""

import logging
import socket
import sys
import threading
import time
from contextlib import suppress
from http.server import ThreadingHTTPServer
from typing import ClassVar

Request = socket.socket | tuple[bytes, socket.socket]
"""As the standard library types it; of TCP and Unix sockets it is the first."""
logger = logging.getLogger(__name__)


class BoundedServer(ThreadingHTTPServer):
    """A thread for each of so many connections; what is more is turned away."""

    daemon_threads = True
    read_s: ClassVar[float]
    """How long a request may take to arrive, however steadily its bytes come."""
    failed: ClassVar[str]
    """What the log says of a request that ended in an error of ours."""

    def bound(self, connections: int) -> None:
        """Call it before anything is accepted."""
        self._places = threading.BoundedSemaphore(connections)
        self._arriving: dict[Request, float] = {}

    def run(self) -> None:
        """Serve until `server_close`."""
        self.serve_forever(poll_interval=1.0)

    def process_request(self, request: Request, client_address: object) -> None:
        if not self._places.acquire(blocking=False):
            self.turn_away(request)
            self.shutdown_request(request)
            return
        self.arrives(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Request, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.has_arrived(request)
            self._places.release()

    def turn_away(self, request: Request) -> None:
        """Say that there is no place, before the connection is closed; nothing is said by default."""

    def arrives(self, request: Request) -> None:
        """A request begins, on a connection that is new or has carried others."""
        self._arriving[request] = time.monotonic()

    def has_arrived(self, request: Request) -> None:
        """Its time is bounded no longer."""
        self._arriving.pop(request, None)

    def service_actions(self) -> None:
        """Once a second: end what has been arriving for too long."""
        for request, since in list(self._arriving.items()):
            if time.monotonic() - since > self.read_s:
                assert isinstance(request, socket.socket), "this is a stream"
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Request, client_address: object) -> None:  # noqa: ARG002 - the standard library's
        """Whoever asked and hung up is no error of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            logger.exception(self.failed)
