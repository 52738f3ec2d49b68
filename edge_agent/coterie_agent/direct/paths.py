"""Opens direct paths to other devices, and answers over those that they open. Safe to use from several threads."""

import asyncio
import importlib.util
import logging
import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from coterie_agent.errors import AgentError, Exit
from coterie_agent.link.failure import Unreachable
from coterie_agent.link.neighbour import ask_neighbour
from coterie_agent.peer_server import BODIES_AT_ONCE, MAX_BODY_BYTES, PeerHandler, Room
from coterie_agent.situation import Situation
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.paths import Answered, Candidates, PathRequest, SendSignal, Signal, first_line
from coterie_wire.relaying import DirectPeer, read_with_body, seal, unseal, with_body

if TYPE_CHECKING:  # it loads asyncio and aioice, 18 MB that most devices never need
    from coterie_agent.direct.ice import IcePath

log = logging.getLogger(__name__)
T = TypeVar("T")
ANSWERED_AT_ONCE = 32
"""Paths that others have opened, and answers that are being made."""
SIGNAL_BACK_S = 15.0
"""For the other device to check in and to answer."""
ANSWER_S = 90.0
REST_S = 120.0
"""After a path did not come about; until then nothing is tried again with that device."""
_REMEMBERED = 256
"""Names of paths."""


def check_installed() -> None:
    """Raises AgentError ``direct.no_aioice``."""
    if importlib.util.find_spec("aioice") is None:
        detail = "direct paths to other devices need aioice: pip install 'coterie-agent[p2p]'"
        message = f"{detail}, or take connect = false in agent.toml, [direct]"
        raise AgentError("direct.no_aioice", message, exit_code=Exit.BAD_CONFIG)


class _Running(NamedTuple):
    """What serves the paths while there are any."""

    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    replies: ThreadPoolExecutor
    room: Room
    """Of all bodies that come."""


@dataclass
class _Call:
    """A path that this device has opened."""

    signal: "asyncio.Future[Candidates]"
    path: "IcePath | None" = None
    answer: "asyncio.Future[bytes] | None" = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def heard(self, frame: bytes) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(frame)


@dataclass(kw_only=True)
class DirectPaths:
    """All paths of one device; their event loop runs from the first of them on."""

    own: str
    """This device's name at the platform."""
    secret: bytes
    send: Callable[[SendSignal], None]
    """Have the platform pass a signal on. Raises AgentError."""
    handlers: Mapping[str, PeerHandler[Any]]
    """Who answers, by the same paths as at the device's doors."""
    most_bytes: int = MAX_BODY_BYTES
    """Of a body."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _running: "_Running | None" = None
    """From the first path on."""
    _calls: dict[str, _Call] = field(default_factory=dict)
    """By device. Those below too are used in the loop alone."""
    _expected: dict[str, _Call] = field(default_factory=dict)
    """By the name of the path, those whose other side has sent no signal yet."""
    _heard: dict[str, None] = field(default_factory=dict)
    """Names of paths that this device or others have opened, the oldest first."""
    _answering: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)
    _silent: dict[str, float] = field(default_factory=dict)
    """Until when an address is not called whose device a path leads to; used by whoever asks."""
    _resting: dict[str, tuple[float, str]] = field(default_factory=dict)
    """By device, until when it is not called, and why."""

    def ask(self, way: DirectPeer, handler: str, body: bytes, *, at_most_bytes: int) -> bytes:
        """The answer of a device's handler, of so many bytes at most. Raises Unreachable where none comes."""
        answer = self._run(self._ask(way, handler, body))
        answered, content = _read(answer)
        if answered.refusal is not None:
            raise Unreachable(f"device {way.device} does not answer: {answered.refusal.sentence}")
        if len(content) > at_most_bytes:
            raise Unreachable(f"device {way.device} answers with more than {at_most_bytes} bytes")
        return content

    def ask_nearest(self, address: str, way: DirectPeer, handler: str, body: bytes, *, at_most_bytes: int) -> bytes:
        """The same, at the device's door where that answers, else by a direct path. Raises Unreachable."""
        why = ""
        if time.monotonic() >= self._silent.get(address, 0.0):
            try:
                return ask_neighbour(address, handler, body, at_most_bytes=at_most_bytes)
            except Unreachable as error:
                why = f"{error.detail}; "
        try:
            answer = self.ask(way, handler, body, at_most_bytes=at_most_bytes)
        except Unreachable as error:
            self._silent.pop(address, None)
            raise Unreachable(f"{why}{error.detail}") from error
        if why:
            log.info("%sa direct path leads to the device", why)
            self._silent[address] = time.monotonic() + REST_S
        return answer

    def is_open(self, device: str) -> bool:
        """Whether a path to the device is there, so that nothing need be signalled."""
        call = self._calls.get(device)
        return call is not None and call.path is not None and not call.path.ended.is_set()

    def hear(self, signals: Sequence[Signal]) -> None:
        """What others have sent this device; the same signals may come again."""
        if signals:
            self._run(self._hear(signals))

    def attend(self, situation: Situation) -> None:
        """Hear the signals of each directive until `situation` says to stop."""
        while not (now := situation.now).stopping:
            if now.directive is not None:
                self.hear(now.directive.signals)
            situation.wait(now.edition, None)
        self.close()

    def close(self) -> None:
        """End all paths."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            asyncio.run_coroutine_threadsafe(self._close(), running.loop).result()
            running.replies.shutdown(wait=False, cancel_futures=True)
            running.loop.call_soon_threadsafe(running.loop.stop)
            running.thread.join()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._running is None:
                logging.getLogger("aioice").setLevel(logging.WARNING)  # it tells of each candidate
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=_turn, args=[loop], name="direct-paths", daemon=True)
                replies = ThreadPoolExecutor(ANSWERED_AT_ONCE, "direct-reply")
                self._running = _Running(loop, thread, replies, Room(BODIES_AT_ONCE * self.most_bytes))
                thread.start()
            running = self._running
        return asyncio.run_coroutine_threadsafe(work, running.loop).result()

    def _now_running(self) -> _Running:
        """Raises Unreachable where all paths are being ended."""
        if self._running is None:
            raise Unreachable("this device ends its direct paths")
        return self._running

    async def _ask(self, way: DirectPeer, handler: str, body: bytes) -> bytes:
        call = await self._called(way)
        assert call.path is not None
        async with call.turn:
            call.answer = asyncio.get_running_loop().create_future()
            await call.path.send(with_body(PathRequest(handler), body))
            ended = asyncio.ensure_future(call.path.ended.wait())
            either: set[asyncio.Future[Any]] = {call.answer, ended}
            try:
                await asyncio.wait(either, timeout=ANSWER_S, return_when=asyncio.FIRST_COMPLETED)
            finally:
                ended.cancel()
            if call.answer.done():
                return call.answer.result()
        await self._drop(way.device)
        raise Unreachable(f"the direct path to device {way.device} has ended")

    async def _called(self, way: DirectPeer) -> _Call:
        """A path to the device that is open. Raises Unreachable."""
        call = self._calls.get(way.device)
        if call is not None and call.path is not None and call.path.ended.is_set():
            await self._drop(way.device)
            call = None
        if call is None:
            until, why = self._resting.get(way.device, (0.0, ""))
            if time.monotonic() < until:
                raise Unreachable(why)
            call = self._calls[way.device] = _Call(asyncio.get_running_loop().create_future())
        async with call.turn:
            if call.path is None:
                try:
                    call.path = await self._open(way, call)
                except AgentError as error:
                    self._calls.pop(way.device, None)
                    self._rest(way.device, error.detail)
                    raise Unreachable(error.detail) from error
        return call

    async def _open(self, way: DirectPeer, call: _Call) -> "IcePath":
        name = secrets.token_hex(16)
        path = self._path(name, way, call.heard, calls=True)
        self._expected[name] = call
        self._remember(name)  # the other side's signal comes again, which is no call of its own
        try:
            await self._signal(way, await path.gather())
            async with asyncio.timeout(SIGNAL_BACK_S):
                theirs = await call.signal
            await path.connect(theirs)
        except TimeoutError as error:
            await path.close()
            raise Unreachable(f"device {way.device} does not answer through the platform") from error
        except BaseException:
            await path.close()
            raise
        finally:
            del self._expected[name]
        log.info("a direct path to device %s is open", way.device)
        return path

    async def _hear(self, signals: Sequence[Signal]) -> None:
        for signal in signals:
            try:
                content = unseal(signal.sealed, secret=self.secret, by=signal.way.key)
                theirs, _ = read_with_body(content, Candidates)
            except WireError as error:
                log.warning("a signal of device %s is not read: %s", signal.way.device, error.detail)
                continue
            if theirs.path != signal.path or theirs.sender != signal.way.device:
                log.warning("a signal of device %s was sent by another one, or for another path", signal.way.device)
            elif (call := self._expected.get(signal.path)) is not None:
                if not call.signal.done():
                    call.signal.set_result(theirs)
            elif signal.path not in self._heard and len(self._answering) < ANSWERED_AT_ONCE:
                self._remember(signal.path)
                self._answering[signal.path] = asyncio.create_task(self._answer(signal.way, theirs))

    async def _answer(self, way: DirectPeer, theirs: Candidates) -> None:
        """Meet the device that calls, and answer it until the path ends."""
        running = self._now_running()

        async def heard(frame: bytes) -> None:
            # Not in the threads that signal: an answer may wait for a path that this device has to open.
            await path.send(await running.loop.run_in_executor(running.replies, self._reply, frame))

        path = self._path(theirs.path, way, heard, calls=False)
        try:
            await self._signal(way, await path.gather())
            await path.connect(theirs)
            log.info("device %s has opened a direct path", way.device)
            await path.ended.wait()
        except AgentError as error:
            log.info("no direct path to device %s: %s", way.device, error.detail)
        finally:
            del self._answering[theirs.path]
            await path.close()

    def _reply(self, frame: bytes) -> bytes:
        try:
            asked, body = read_with_body(frame, PathRequest)
            handler = self.handlers.get(asked.desk)
            if handler is None:
                raise WireError("paths.no_such_desk", f"this device does not answer at {asked.desk}")
            line, sealed = first_line(body)
            return with_body(Answered(), handler.receive(handler.admit(line), sealed))
        except WireError as error:
            return with_body(Answered(Reason(error.code, error.detail[:400])))
        except OSError as error:
            log.warning("what another device brings cannot be stored: %s", error)
            return with_body(Answered(Reason("relay.busy", "this device has no room now")))

    def _path(self, name: str, way: DirectPeer, heard: Any, *, calls: bool) -> "IcePath":  # noqa: ANN401 - a Heard
        from coterie_agent.direct.ice import IcePath

        return IcePath(
            name=name,
            own=self.own,
            calls=calls,
            stun=way.stun,
            most_bytes=self.most_bytes,
            room=self._now_running().room,
            heard=heard,
        )

    async def _signal(self, way: DirectPeer, own: Candidates) -> None:
        sealed = seal(with_body(own), secret=self.secret, to=way.key)
        await asyncio.to_thread(self.send, SendSignal(own.path, way.device, sealed))

    async def _drop(self, device: str) -> None:
        call = self._calls.pop(device, None)
        if call is not None and call.path is not None:
            await call.path.close()

    def _remember(self, name: str) -> None:
        self._heard[name] = None
        if len(self._heard) > _REMEMBERED:
            del self._heard[next(iter(self._heard))]

    def _rest(self, device: str, why: str) -> None:
        now = time.monotonic()
        self._resting = {one: rest for one, rest in self._resting.items() if rest[0] > now}
        self._resting[device] = (now + REST_S, why)

    async def _close(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for device in list(self._calls):
            await self._drop(device)


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


def _read(frame: bytes) -> tuple[Answered, bytes]:
    try:
        return read_with_body(frame, Answered)
    except WireError as error:
        raise Unreachable(f"what answers on a direct path does not keep to the protocol: {error.detail}") from error
