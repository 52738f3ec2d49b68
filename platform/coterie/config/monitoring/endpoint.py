"""A process's port for monitoring: ``/metrics`` and ``/livez``. It serves nothing else of the platform."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, generate_latest

from coterie.config.monitoring.liveness import Liveness
from coterie.core.metrics import REGISTRY

ASKED_S = 5.0
"""Seconds after which a connection without a request is closed."""


class _Handler(BaseHTTPRequestHandler):
    timeout = ASKED_S
    life: Liveness

    def do_GET(self) -> None:
        if self.path == "/metrics":
            self._answer(200, generate_latest(REGISTRY), CONTENT_TYPE_LATEST)
        elif self.path == "/livez":
            over = self.life.is_over()
            self._answer(503 if over else 200, b"silent\n" if over else b"ok\n", "text/plain; charset=utf-8")
        else:
            self._answer(404, b"there are /metrics and /livez\n", "text/plain; charset=utf-8")

    def log_message(self, format: str, *values: object) -> None:
        """Requests for metrics are not logged."""

    def _answer(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Aborted connections are not logged."""


def watched(life: Liveness, *, host: str, port: int) -> int:
    """Serve in a separate thread as long as the process lives; returns the port. Raises OSError. Port 0: a free one."""
    handler = type("Handler", (_Handler,), {"life": life})
    server = _Server((host, port), handler)
    threading.Thread(target=server.serve_forever, name="monitoring", daemon=True).start()
    return server.server_port


for _collector in (GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR):
    REGISTRY.register(_collector)
