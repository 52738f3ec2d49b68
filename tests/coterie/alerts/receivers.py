"""What alerts are sent to in tests: a mail server and a web server on the loopback interface."""

import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple


class Mail(NamedTuple):
    """One message as the server got it."""

    sender: str
    recipients: tuple[str, ...]
    text: str


class MailServer(socketserver.ThreadingTCPServer):
    """As much of RFC 5321 as a client needs that hands over plain mail; `refusals` recipients are refused first."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Smtp)
        self.mails: list[Mail] = []
        self.refusals = 0

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Smtp(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 loopback")
        sender, recipients = "", []
        while line := self.rfile.readline().decode().strip():
            verb = line[:4].upper()
            if verb == "MAIL":
                sender, recipients = line, []
            elif verb == "RCPT":
                if self.server.refusals:
                    self.server.refusals -= 1
                    self._say("451 try again later")
                    continue
                recipients.append(line.partition("<")[2].partition(">")[0])
            elif verb == "DATA":
                self._say("354 go on")
                self.server.mails.append(Mail(sender, tuple(recipients), self._text()))
            elif verb == "QUIT":
                self._say("221 bye")
                return
            self._say("250 ok")

    def _text(self) -> str:
        lines = []
        while (line := self.rfile.readline().decode().rstrip("\r\n")) != ".":
            lines.append(line)
        return "\n".join(lines)

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


class Post(NamedTuple):
    """One request as the server got it."""

    path: str
    headers: dict[str, str]
    body: bytes


class WebServer(ThreadingHTTPServer):
    """Keeps what it is sent, and answers with `statuses` first and 204 then."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Http)
        self.posts: list[Post] = []
        self.statuses: list[int] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Http(BaseHTTPRequestHandler):
    server: WebServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append(Post(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    """As long as the block lasts."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
