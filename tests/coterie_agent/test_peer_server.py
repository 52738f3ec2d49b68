"""The door for other devices: what strangers send costs little, and leaves places for those who have business there."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from coterie_agent import peer_server
from coterie_agent.bounded_server import MAX_HEAD_BYTES
from coterie_agent.errors import AgentError
from coterie_agent.link.failure import Unreachable
from coterie_agent.link.neighbour import ask_neighbour
from coterie_agent.peer_server import BODIES_AT_ONCE, MAX_CONNECTIONS, MAX_LINE_BYTES, OF_AN_ADDRESS, PeerServer
from coterie_wire import limit_log
from coterie_wire.errors import WireError
from coterie_wire.limit_log import LimitLog

MAX_BODY = 1 << 20


class Desk:
    """Knows a neighbour."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.bodies: list[int] = []
        self.waits = threading.Event()
        self.waits.set()

    def admit(self, line: bytes) -> str:
        self.lines.append(line)
        if line != b"neighbour\n":
            raise WireError("relay.malformed", "nobody knows you")
        return "neighbour"

    def receive(self, _caller: str, sealed: bytes) -> bytes:
        self.bodies.append(len(sealed))
        self.waits.wait(10)
        return b"thanks"


@pytest.fixture
def handler() -> Desk:
    return Desk()


@pytest.fixture
def port(handler: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(peer_server, "LIMIT_LOG", LimitLog())
    door = PeerServer(0, handler, path="/calls", max_body_bytes=MAX_BODY)
    threading.Thread(target=door.run, daemon=True).start()
    yield door.server_port
    door.shutdown()
    door.server_close()


def connected(port: int, address: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(address, 0))


def status(port: int, request: bytes, address: str = "127.0.0.1") -> bytes:
    with connected(port, address) as connection:
        connection.sendall(request)
        return connection.recv(100).split(b"\r\n")[0].partition(b" ")[2][:3]


def call(body: bytes, length: int | None = None) -> bytes:
    return b"POST /calls HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body) if length is None else length, body)


def test_a_port_that_is_taken_is_told_with_the_table_that_names_it(port: int, handler: Desk) -> None:
    with pytest.raises(AgentError, match=rf"port {port} for neighbours: .* another in agent\.toml, \[gossip\]"):
        PeerServer(port, handler, path="/calls", table="gossip")


NEIGHBOUR = call(b"neighbour\n" + bytes(1000))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (NEIGHBOUR, b"200"),
        (call(b"stranger\n"), b"403"),
        (b"GET /calls HTTP/1.1\r\n\r\n", b"405"),
        (b"BREW /calls HTTP/1.1\r\n\r\n", b"405"),
        (b"POST /calls HTTP/9.9\r\n\r\n", b"400"),
        (b"POST /elsewhere HTTP/1.1\r\nContent-Length: 1\r\n\r\n.", b"400"),
        (b"POST /calls HTTP/1.1\r\n\r\n", b"400"),
        (call(b"", MAX_BODY + 1), b"400"),
        (b"POST /calls HTTP/1.1\r\nX: " + b"a" * MAX_HEAD_BYTES + b"\r\n\r\n", b"431"),
        (b"POST /calls HTTP/1.1\r\n" + b"X: aaaaaaaaaaa\r\n" * 101 + b"\r\n", b"431"),
    ],
)
def test_each_is_answered_and_nothing_is_the_doors_fault(port: int, request_: bytes, expected: bytes) -> None:
    assert status(port, request_) == expected


def test_of_a_stranger_one_line_is_read_whatever_it_announces(port: int, handler: Desk) -> None:
    assert status(port, call(b"a" * 100_000, MAX_BODY)) == b"403"
    assert [len(line) for line in handler.lines] == [MAX_LINE_BYTES]
    assert handler.bodies == []


def test_bodies_that_are_held_at_once_take_so_much_memory(port: int, handler: Desk) -> None:
    large = b"neighbour\n" + bytes(MAX_BODY - 10)
    handler.waits.clear()
    with ExitStack() as held:
        for _ in range(BODIES_AT_ONCE):
            held.enter_context(connected(port)).sendall(call(large))
        until(lambda: len(handler.bodies) == BODIES_AT_ONCE)
        assert status(port, call(large)) == b"503"
        handler.waits.set()
    until(lambda: status(port, call(large)) == b"200")


def test_an_address_leaves_places_for_others(port: int) -> None:
    before = threading.active_count()  # this process has run other tests
    with ExitStack() as held:
        for _ in range(MAX_CONNECTIONS):
            held.enter_context(connected(port, "127.0.0.2")).sendall(b"POST")
        assert threading.active_count() <= before + OF_AN_ADDRESS + 1
        assert status(port, NEIGHBOUR, "127.0.0.3") == b"200"
    until(lambda: status(port, NEIGHBOUR, "127.0.0.2") == b"200")


def test_a_head_that_comes_for_ever_is_ended(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PeerServer, "read_s", 0.1)
    with connected(port) as connection:
        connection.sendall(b"POST /ca")
        assert connection.recv(100) == b""


def test_who_is_turned_away_is_told_of_once(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(20):
            status(port, call(b"stranger\n"), "127.0.0.9")  # a neighbour that no other test's door may still answer
            status(port, b"GET / HTTP/1.1\r\n\r\n", "127.0.0.9")
    told = [record.getMessage() for record in caplog.records if record.name == limit_log.__name__]
    assert len([message for message in told if "127.0.0.9" in message]) == 1


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """Somebody who answers whatever he likes, and the address where."""
    with ExitStack() as stack:

        def start(answer: bytes, *, every_s: float = 0.0) -> str:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def run() -> None:
                connection, _ = listener.accept()
                with connection:
                    try:
                        connection.recv(1 << 16)
                        if not every_s:
                            connection.sendall(answer)
                        for byte in answer if every_s else b"":
                            connection.send(bytes([byte]))
                            time.sleep(every_s)
                    except OSError:
                        return

            threading.Thread(target=run, daemon=True).start()
            return f"127.0.0.1:{listener.getsockname()[1]}"

        yield start


def test_of_an_answer_no_more_is_read_than_it_may_have(answering: Callable[..., str]) -> None:
    endless = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(50 << 20)
    with pytest.raises(Unreachable, match="more than 1000 bytes"):
        ask_neighbour(answering(endless), "/calls", b"", at_most_bytes=1000)


def test_an_answer_that_comes_for_ever_is_not_waited_for(answering: Callable[..., str]) -> None:
    began = time.monotonic()
    with pytest.raises(Unreachable):
        ask_neighbour(
            answering(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 5000, every_s=0.05),
            "/calls",
            b"",
            at_most_bytes=1000,
            within_s=0.5,
        )
    assert time.monotonic() - began < 20


def until(condition: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this system has no IPv6")
def test_devices_of_both_protocols_are_answered_and_known_by_machine(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    for address in ("127.0.0.1", "[::1]"):
        assert ask_neighbour(f"{address}:{port}", "/calls", b"neighbour\n", at_most_bytes=100) == b"thanks"
        with pytest.raises(Unreachable):
            ask_neighbour(f"{address}:{port}", "/calls", b"stranger\n", at_most_bytes=100)
    refused = [record.getMessage().split(":", 1)[0] for record in caplog.records]
    assert "refused 127.0.0.1" in refused
    assert "refused ::/64" in " ".join(record.getMessage() for record in caplog.records)
