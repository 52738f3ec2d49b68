"""The door of the prediction service over real sockets: order, bounds, leave, and its end."""

import asyncio
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie_agent.bounded_server import MAX_HEAD_BYTES
from coterie_agent.errors import AgentError, Exit
from coterie_agent.serving.listener import IDLE_S, PredictionListener, listen_tcp, listen_unix
from coterie_agent.site import MAX_BODY_BYTES, RequestError

ASK = b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
MOST = 3


class Echo(msgspec.Struct):
    said: str


class World:
    """A door on a Unix socket, with one route that answers and one that waits until it is let."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.goes: asyncio.Event | None = None
        self.waits = threading.Event()
        self.was_cancelled = threading.Event()
        routes = {"POST /echo": self.echo, "POST /wait": self.wait, "POST /fail": self.fail}
        self.door = PredictionListener(routes, token="t", connections=MOST, tcp=listen_tcp(0), unix=listen_unix(path))
        self.thread = threading.Thread(target=self.door.run, daemon=True)
        self.thread.start()

    async def echo(self, body: bytes) -> Echo:
        return Echo(body.decode())

    async def wait(self, body: bytes) -> Echo:
        self.goes = asyncio.Event()
        self.waits.set()
        try:
            await self.goes.wait()
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise
        return Echo(body.decode())

    async def fail(self, body: bytes) -> Echo:
        match body:
            case b"data":
                raise AgentError("ingest.wrong_width", "too few", exit_code=Exit.BAD_DATA)
            case b"late":
                raise RequestError(HTTPStatus.GATEWAY_TIMEOUT, "serve.late", "late")
            case _:
                raise AgentError("agent.no_model", "none")

    def let(self) -> None:
        assert self.goes is not None
        self.door.loop.call_soon_threadsafe(self.goes.set)

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(10)
        connection.connect(str(self.path))
        return connection


@pytest.fixture
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as directory:  # a socket's path is short
        world = World(Path(directory) / "s")
        yield world
        world.door.close()
        world.thread.join(10)
        assert not world.thread.is_alive()


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """Status and body of the next answer."""
    with connection.makefile("rb", buffering=0) as stream:  # it reads no byte of the next one
        status = int(stream.readline().split()[1])
        length = 0
        while (line := stream.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return status, stream.read(length)


def test_requests_of_a_connection_are_answered_in_their_order_also_when_they_come_at_once(world: World) -> None:
    with world.connect() as connection:
        connection.sendall(b"".join(ASK % (1, b"%d" % number) for number in range(5)))
        assert [answer(connection) for _ in range(5)] == [(200, b'{"said":"%d"}' % number) for number in range(5)]


@pytest.mark.parametrize(
    ("body", "status"), [(b"data", 422), (b"late", 504), (b"none", 503)], ids=["data", "late", "no model"]
)
def test_errors_have_their_status_and_the_connection_stays(world: World, body: bytes, status: int) -> None:
    with world.connect() as connection:
        connection.sendall(b"POST /fail HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n" + body)
        assert answer(connection)[0] == status
        connection.sendall(ASK % (2, b"on"))
        assert answer(connection) == (200, b'{"said":"on"}')


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"nonsense\r\n\r\n", 400, "local_api.malformed"),
        (b"POST /echo HTTP/1.1\r\n\r\n", 400, "local_api.malformed"),
        (b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400, "local_api.malformed"),
        (b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length : 3\r\n\r\n", 400, "local_api.malformed"),
        (b"POST /echo HTTP/1.1\r\nA: " + b"b" * MAX_HEAD_BYTES, 431, "local_api.malformed"),
        (ASK % (MAX_BODY_BYTES + 1, bytes(MAX_BODY_BYTES + 1)), 413, "local_api.too_large"),
    ],
    ids=["no request", "no host", "negative", "space", "long head", "long body"],
)
def test_what_is_malformed_or_too_large_is_refused_and_the_connection_ends(
    world: World, sent: bytes, status: int, code: str
) -> None:
    with world.connect() as connection:
        connection.sendall(sent)
        refused = answer(connection)
        assert (refused[0], msgspec.json.decode(refused[1])["code"]) == (status, code)
        assert connection.recv(100) == b""


@given(cuts=st.lists(st.integers(0, 3 * len(ASK)), max_size=8))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_requests_are_the_same_however_their_bytes_are_cut(world: World, cuts: list[int]) -> None:
    sent = b"".join(ASK % (2, body) for body in (b"ab", b"cd", b"ef"))
    with world.connect() as connection:
        for start, end in pairwise([0, *sorted(cuts), len(sent)]):
            connection.sendall(sent[start:end])
        assert [answer(connection) for _ in range(3)] == [
            (200, b'{"said":"%s"}' % body) for body in (b"ab", b"cd", b"ef")
        ]


def test_a_client_that_asks_for_leave_gets_it(world: World) -> None:
    with world.connect() as connection:
        connection.sendall(
            b"POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"on")
        assert answer(connection) == (200, b'{"said":"on"}')


def test_who_finds_no_place_is_told_to_come_back(world: World) -> None:
    inside = [world.connect() for _ in range(MOST)]
    for connection in inside:
        connection.sendall(ASK % (1, b"a"))
        assert answer(connection)[0] == 200
    with world.connect() as turned_away:
        assert answer(turned_away)[0] == 503
        assert turned_away.recv(100) == b""
    for connection in inside:
        connection.close()
    status = 503
    while status == 503:  # until the door has seen that they are gone
        with world.connect() as connection:
            connection.sendall(ASK % (1, b"a"))
            status = answer(connection)[0]
    assert status == 200


def test_who_hangs_up_is_not_waited_for(world: World) -> None:
    with world.connect() as connection:
        connection.sendall(b"POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        assert world.waits.wait(10)
    assert world.was_cancelled.wait(10)


def test_what_has_been_arriving_for_too_long_is_ended(world: World) -> None:
    with world.connect() as connection:
        connection.sendall(b"POST /echo HTTP/1.1\r\n")
        now = world.door.loop.time
        while not (arriving := [one for one in list(world.door.open) if one.until > now() + IDLE_S]):
            time.sleep(0.001)  # until the door has read it: one that it has only accepted ends within IDLE_S
        arriving[0].until = 0.0
        assert connection.recv(100) == b""


def test_more_than_one_requests_bytes_wait_outside_while_one_is_answered(world: World) -> None:
    with world.connect() as connection:
        connection.sendall(b"POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        assert world.waits.wait(10)
        connection.settimeout(0.2)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent <= MAX_BODY_BYTES:
                sent += connection.send(bytes(1 << 16))
        connection.settimeout(10)
        world.let()
        assert answer(connection)[0] == 200


def test_at_its_end_it_answers_what_is_on_its_way(world: World) -> None:
    with world.connect() as connection:
        connection.sendall(b"POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi")
        assert world.waits.wait(10)
        world.door.close()
        world.let()
        assert answer(connection) == (200, b'{"said":"hi"}')
    world.thread.join(10)
    assert not world.thread.is_alive()
