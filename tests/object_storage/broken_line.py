"""An HTTP proxy before an object storage, which fails on command; requests pass as they were signed."""

import http.client
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

Fault = Literal["error", "cut", "silence", "slow"]
"""An answer 500; a request that is done and an answer that breaks off; no answer; one that comes `SLOW_S` later."""
SILENCE_S = 30.0
"""At most; who waits breaks off earlier."""
SLOW_S = 1.5
HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive"}


class BrokenLine:
    """Passes requests on, but for those that a test has fail."""

    def __init__(self, url: str) -> None:
        upstream = urlsplit(url).netloc
        line = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fault = line._fault()
                self.close_connection = True
                if fault == "silence":
                    line._mended.wait(SILENCE_S)
                    return
                if fault == "slow":
                    time.sleep(SLOW_S)
                if fault == "error":
                    self.send_response(500)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                connection = http.client.HTTPConnection(upstream, timeout=60)
                connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    connection.putheader(name, value)
                connection.endheaders(body or None)
                answer = connection.getresponse()
                content = answer.read()
                connection.close()
                if fault == "cut":
                    self.wfile.write(b"HTTP/1.1 2")
                    return
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in {*HOP_BY_HOP, "date", "server", "content-length"}:
                        self.send_header(name, value)
                length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
                self.send_header("Content-Length", length or "0")
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass  # noqa: N815 - the names that the library calls

            def log_message(self, format: str, *values: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Who breaks off is no news here."""

        self._lock = threading.Lock()
        self._mended = threading.Event()
        self._next: Fault | None = None
        self._all: Fault | None = None
        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def break_next(self, fault: Fault) -> None:
        """The next request fails."""
        with self._lock:
            self._next = fault

    def break_all(self, fault: Fault) -> None:
        """All do, until `mend`."""
        with self._lock:
            self._all = fault
            self._mended.clear()

    def mend(self) -> None:
        """None does."""
        with self._lock:
            self._next = self._all = None
            self._mended.set()

    def _fault(self) -> Fault | None:
        with self._lock:
            fault, self._next = self._all or self._next, None
            return fault

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.mend()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
