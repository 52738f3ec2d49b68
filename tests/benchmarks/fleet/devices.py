"""Plays a fleet from one process: devices that check in by HTTP, join, and hold sockets on which they are woken."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec
from websockets.asyncio.client import ClientConnection, connect

from coterie_wire.messages import Capabilities, Enrol, PlatformFrame, Reply, Request, Wake
from coterie_wire.version import PROTOCOL
from tests.benchmarks.processes.populate_fleet import REPORTED, credential

AT_ONCE = 64
CONNECTING = 50
HEAR_S = 600.0
CHECK_IN = msgspec.json.encode(REPORTED)
CAPABILITIES = Capabilities(cores=4, memory_bytes=1 << 30, machine="aarch64 Linux", agent="bench")


class Span(NamedTuple):
    """How long something took."""

    seconds: float
    processor_s: float
    """Of the platform's processes."""


class Woken(NamedTuple):
    """How a round came to many sockets."""

    opening: Span
    """From its federation's start to the first device woken."""
    waking: Span
    """From then to the last one woken."""
    assigning: Span
    """From the first one woken to the last one that has its assignment."""


class Fleet:
    """The devices of a populated platform."""

    def __init__(self, url: str, *, devices: int) -> None:
        self._devices = devices
        self._host, _, port = url.removeprefix("http://").partition(":")
        self._port = int(port)
        self._random = random.Random(0)
        self._sockets: list[ClientConnection] = []

    async def check_in(self, count: int) -> float:
        """Seconds of so many check-ins of random devices, some at once."""
        numbers = [self._random.randrange(self._devices) for _ in range(count)]
        return await self._by_http("check-in", [(CHECK_IN, credential(number)) for number in numbers])

    async def enrol(self, token: str, count: int) -> float:
        """Seconds of so many devices joining, some at once."""
        joining = [Enrol(PROTOCOL, token, f"new-{number}", CAPABILITIES) for number in range(count)]
        return await self._by_http("enrol", [(msgspec.json.encode(message), "") for message in joining])

    async def connect(self, count: int) -> None:
        """Let the first devices open sockets, and check in once on each."""
        turn = asyncio.Semaphore(CONNECTING)

        async def one(number: int) -> ClientConnection:
            async with turn:
                socket = await connect(
                    f"ws://{self._host}:{self._port}/device/v1/socket",
                    additional_headers={"Authorization": f"Bearer {credential(number)}"},
                    compression=None,
                    proxy=None,
                    open_timeout=60,
                    ping_interval=None,
                )
                await socket.send(_check_in(0))
                assert isinstance(_frame(await socket.recv()), Reply)
                return socket

        self._sockets = await asyncio.gather(*(one(number) for number in range(count)))

    async def hear(self, asking: Awaitable[object], *, processor_s: Callable[[], float]) -> Woken:
        """Let every device check in when it is woken, until each has its assignment."""
        asleep = set(self._sockets)
        moments: list[Span] = []

        def mark() -> None:
            moments.append(Span(time.perf_counter(), processor_s()))

        def wake(socket: ClientConnection) -> None:
            if len(asleep) == len(self._sockets):
                mark()
            asleep.discard(socket)
            if not asleep and len(moments) == len(("started", "first")):
                mark()

        mark()
        outcomes = [asyncio.create_task(_until_assigned(socket, wake)) for socket in self._sockets]
        await asking
        async with asyncio.timeout(HEAR_S):
            await asyncio.gather(*outcomes)
        mark()
        started, first, last, assigned = moments
        return Woken(_between(started, first), _between(first, last), _between(first, assigned))

    async def close(self) -> None:
        """Hang up."""
        await asyncio.gather(*(socket.close() for socket in self._sockets))

    async def _by_http(self, name: str, asked: list[tuple[bytes, str]]) -> float:
        waiting = list(reversed(asked))
        started = time.perf_counter()
        await asyncio.gather(*(self._line(name, waiting.pop) for _ in range(AT_ONCE) if waiting))
        return time.perf_counter() - started

    async def _line(self, name: str, take: Callable[[], tuple[bytes, str]]) -> None:
        """One kept connection, which asks as long as there is something to ask."""
        reader, writer = await asyncio.open_connection(self._host, self._port)
        while True:
            try:
                body, bearer = take()
            except IndexError:
                break
            head = f"POST /device/v1/{name} HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}Authorization: Bearer {bearer}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200 "), answer
            (length,) = (line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
        writer.close()
        await writer.wait_closed()


class _HasAssignment(msgspec.Struct):
    """The part of a directive that the device waits for."""

    assignment: object = None


async def _until_assigned(socket: ClientConnection, wake: Callable[[ClientConnection], None]) -> None:
    while True:
        frame = _frame(await socket.recv())
        if isinstance(frame, Wake):
            wake(socket)
            await socket.send(_check_in(1))
        elif isinstance(frame, Reply) and msgspec.json.decode(frame.body, type=_HasAssignment).assignment is not None:
            return


def _between(earlier: Span, later: Span) -> Span:
    return Span(later.seconds - earlier.seconds, later.processor_s - earlier.processor_s)


def _check_in(number: int) -> str:
    return msgspec.json.encode(Request(number, "check-in", msgspec.Raw(CHECK_IN))).decode()


def _frame(text: str | bytes) -> PlatformFrame:
    frame: PlatformFrame = msgspec.json.decode(text, type=PlatformFrame)
    return frame
