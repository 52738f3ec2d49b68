"""One direct path: ICE (RFC 8445) finds a route for datagrams, which carry a `ReliableStream`."""

import asyncio
from collections.abc import Awaitable, Callable

from coterie_agent.device import host_and_port
from coterie_agent.direct.stream import ReliableStream
from coterie_agent.link.failure import Unreachable
from coterie_agent.peer_server import NoRoom, Room
from coterie_wire.errors import WireError
from coterie_wire.paths import FRAME_HEAD_BYTES, MAX_CANDIDATES, Candidates, Frames, framed

GATHER_S = 5.0
CONNECT_S = 8.0
"""Seconds after which ICE will not find a route any more."""
IDLE_S = 60.0
"""Seconds without a frame in either direction after which the path is closed."""
OnFrame = Callable[[bytes], Awaitable[None]]


class IcePath:
    """The path; it belongs to the event loop in which it is created."""

    def __init__(
        self, *, name: str, own: str, calls: bool, stun: str | None, most_bytes: int, room: Room, on_frame: OnFrame
    ) -> None:
        """`name`: the path's, `own`: this device's; `on_frame` is called with each frame, of at most `most_bytes`.

        Received bytes that are not handled yet are taken from `room`; where it has none left, the path ends.
        """
        from aioice import Connection

        self._name, self._own, self._on_frame, self._room = name, own, on_frame, room
        self._held_bytes = 0
        self._connection = Connection(ice_controlling=calls, stun_server=None if stun is None else host_and_port(stun))
        self._stream, self._frames = ReliableStream(), Frames(most_bytes)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._used_at = self._loop.time()
        self.ended = asyncio.Event()

    async def gather(self) -> Candidates:
        """The addresses at which this side may be reached. Raises Unreachable where there are none."""
        try:
            async with asyncio.timeout(GATHER_S):
                await self._connection.gather_candidates()
        except (TimeoutError, OSError) as error:
            raise Unreachable(f"this device found no address for a direct path: {error}") from error
        found = sorted(self._connection.local_candidates, key=lambda one: -one.priority)[:MAX_CANDIDATES]
        return Candidates(
            path=self._name,
            sender=self._own,
            username=self._connection.local_username,
            password=self._connection.local_password,
            candidates=tuple(one.to_sdp() for one in found),
        )

    async def connect(self, theirs: Candidates) -> None:
        """Connect to the other side. Raises Unreachable where the networks in between do not allow it."""
        from aioice import Candidate

        try:
            async with asyncio.timeout(CONNECT_S):
                for candidate in theirs.candidates:
                    await self._connection.add_remote_candidate(Candidate.from_sdp(candidate))
                await self._connection.add_remote_candidate(None)
                self._connection.remote_username = theirs.username
                self._connection.remote_password = theirs.password
                await self._connection.connect()
        except (TimeoutError, OSError, ValueError) as error:
            raise Unreachable("the networks between let no direct path through") from error
        self._start(self._receive())
        self._start(self._watch())

    async def send(self, content: bytes) -> None:
        """Send a frame to the other side."""
        self._used_at = self._loop.time()
        self._stream.write(framed(content))
        await self._pump()

    async def close(self) -> None:
        """Close the path, and tell the other side if possible."""
        if not self.ended.is_set():
            self._stream.close()
            await self._pump()
        await self._end()

    async def _receive(self) -> None:
        try:
            while not self._stream.is_closed:
                datagram = await self._connection.recv()
                self._stream.receive(datagram, now=self._loop.time())
                await self._pump()
                content = self._stream.read()
                self._hold(len(content))
                for frame in self._frames.take(content):
                    self._used_at = self._loop.time()
                    self._start(self._handle_frame(frame))
        except (OSError, WireError, NoRoom):  # the other side is gone, or violates the protocol or its limits
            pass
        finally:
            self.ended.set()

    async def _handle_frame(self, frame: bytes) -> None:
        try:
            await self._on_frame(frame)
        finally:
            self._hold(-(FRAME_HEAD_BYTES + len(frame)))

    def _hold(self, size_bytes: int) -> None:
        """Take `size_bytes` from the room; negative: give them back. Raises NoRoom."""
        self._room.take(size_bytes)
        self._held_bytes += size_bytes

    async def _watch(self) -> None:
        """End the path once it has failed or is idle."""
        while not self.ended.is_set():
            await asyncio.sleep(1.0)
            now = self._loop.time()
            is_idle = now - self._used_at > IDLE_S and not self._stream.unsent_bytes
            if is_idle or self._stream.has_failed(now=now):
                self.ended.set()

    async def _pump(self) -> None:
        try:
            for datagram in self._stream.to_send(now=self._loop.time()):
                await self._connection.send(datagram)
        except OSError:
            self.ended.set()
            return
        if self._timer is not None:
            self._timer.cancel()
        at = self._stream.next_at
        self._timer = None if at is None else self._loop.call_at(at, lambda: self._start(self._pump()))

    async def _end(self) -> None:
        self.ended.set()
        if self._timer is not None:
            self._timer.cancel()
        others = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self._hold(-self._held_bytes)
        await self._connection.close()

    def _start(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
