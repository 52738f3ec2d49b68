"""Stands in for the platform: passes signals on, keeps what is to be fetched, and answers STUN."""

import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from coterie_wire.paths import Signal
from coterie_wire.stun import answer_stun
from tests.nat.network import SERVER

PORT, STUN_PORT = 8000, 3478


class Post(BaseHTTPRequestHandler):
    """``POST`` adds to what lies at a path, ``GET`` takes it all: a list of signals, or bytes."""

    protocol_version = "HTTP/1.1"
    signals: defaultdict[str, list[Signal]] = defaultdict(list)
    kept: defaultdict[str, bytes] = defaultdict(bytes)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/signals/"):
            self.signals[self.path].append(msgspec.json.decode(body, type=Signal))
        else:
            self.kept[self.path] = body
        self._answer(b"")

    def do_GET(self) -> None:
        if self.path.startswith("/signals/"):
            self._answer(msgspec.json.encode(self.signals.pop(self.path, [])))
        else:
            self._answer(self.kept[self.path])

    def _answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # the name is the standard library's
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Devices that are ended hang up, which is no error."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    server = Server((SERVER, PORT), Post)
    threading.Thread(target=answer_stun, args=(SERVER, STUN_PORT), daemon=True).start()
    print("ready", flush=True)
    server.serve_forever()
