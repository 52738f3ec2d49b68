"""The local API under programs that behave badly: bounded threads, bounded time, and never a 5xx of its own making."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from coterie_agent import loopback
from coterie_agent.config import Config
from coterie_agent.home import Home
from coterie_agent.local_api import LocalApi, LocalApiServer
from coterie_agent.site import MAX_CONNECTIONS
from coterie_agent.situation import Situation
from coterie_agent.store.opened import open_store


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalApiServer]:
    home = Home(tmp_path)
    with open_store(home) as store:
        api = LocalApi(home=home, config=Config(), store=store, situation=Situation(), token="right")
        server = LocalApiServer(api)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        yield server
        server._server.shutdown()
        server.close()
        thread.join(5)


def connected(server: LocalApiServer) -> socket.socket:
    host, port = server.address.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def answer_to(server: LocalApiServer, request: bytes) -> bytes:
    with connected(server) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


HEAD = "Host: 127.0.0.1:1\r\nAuthorization: Bearer right\r\n"
STATUS = f"GET /status HTTP/1.0\r\n{HEAD}\r\n".encode()
NOT_JOINED = b"HTTP/1.0 409"
"""What a device answers that belongs to no platform."""


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (f"POST /samples HTTP/1.0\r\n{HEAD}Content-Length: {'9' * 5000}\r\n\r\n", 413),
        (f"POST /samples HTTP/1.0\r\n{HEAD}Content-Length: -1\r\n\r\n", 411),
        (f"BREW /status HTTP/1.0\r\n{HEAD}\r\n", 405),
        (f"GET /status HTTP/9.9\r\n{HEAD}\r\n", 400),
        (f"GET /{'a' * 70_000} HTTP/1.0\r\n{HEAD}\r\n", 414),
        (f"GET /status HTTP/1.0\r\n{HEAD}" + "A: b\r\n" * 200 + "\r\n", 431),
        (f"POST /samples HTTP/1.0\r\n{HEAD}Content-Length: 100000\r\n\r\n" + "[" * 100_000, 400),
        (f"GET /status HTTP/1.0\r\n{HEAD}\r\n", 409),
        (f"GET /status HTTP/1.0\r\n{HEAD.replace('Bearer', 'bearer')}\r\n", 409),
        (f"GET /status HTTP/1.0\r\n{HEAD.replace('Bearer', 'Basic')}\r\n", 401),
    ],
)
def test_what_makes_no_sense_is_the_clients_fault(server: LocalApiServer, request_: str, status: int) -> None:
    assert answer_to(server, request_.encode()).split()[1] == str(status).encode()


def test_so_many_connections_and_no_more_have_a_thread(server: LocalApiServer) -> None:
    before = threading.active_count()
    with ExitStack() as held:
        for _ in range(MAX_CONNECTIONS):
            held.enter_context(connected(server)).sendall(b"GET")
        refused = answer_to(server, b"")
        assert refused.startswith(b"HTTP/1.0 503") and b"Retry-After" in refused
        assert threading.active_count() <= before + MAX_CONNECTIONS + 1
    ends_at = time.monotonic() + 10
    while not (answered := answer_to(server, STATUS)).startswith(NOT_JOINED):
        assert time.monotonic() < ends_at, answered


def test_a_request_that_comes_for_ever_is_ended(server: LocalApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback.LoopbackServer, "read_s", 0.1)
    with connected(server) as connection:
        connection.sendall(b"GET /sta")
        assert connection.recv(100) == b""


def test_who_hangs_up_leaves_no_trace_in_the_log(server: LocalApiServer, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(5):
        with connected(server) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # reset instead of an end
            connection.sendall(STATUS)
    assert answer_to(server, STATUS).startswith(NOT_JOINED)
    assert caplog.text == ""
