"""Opens direct paths to other devices, and answers over paths that they open. Safe to use from several threads."""

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
from coterie_wire.paths import Answered, Candidates, PathRequest, SendSignal, Signal, split_sealed
from coterie_wire.relaying import DirectPeer, read_with_body, seal, unseal, with_body

if TYPE_CHECKING:  # it loads asyncio and aioice, 18 MB that most devices never need
    from coterie_agent.direct.ice import IcePath

log = logging.getLogger(__name__)
T = TypeVar("T")
MAX_ANSWERING = 32
"""Most paths opened by others, and most answers computed at the same time."""
SIGNAL_BACK_S = 15.0
"""Seconds for the other device to check in and to send its signal."""
ANSWER_S = 90.0
REST_S = 120.0
"""Seconds after a failed path in which nothing is tried again with that device."""
_REMEMBERED = 256
"""Names of paths remembered."""


def check_installed() -> None:
    """Raises AgentError ``direct.no_aioice``."""
    if importlib.util.find_spec("aioice") is None:
        detail = "direct paths to other devices need aioice: pip install 'coterie-agent[p2p]'"
        message = f"{detail}, or take connect = false in agent.toml, [direct]"
        raise AgentError("direct.no_aioice", message, exit_code=Exit.BAD_CONFIG)


class _Running(NamedTuple):
    """The event loop and threads that serve the paths."""

    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    replies: ThreadPoolExecutor
    room: Room
    """Memory for all received bodies."""


@dataclass
class _Call:
    """A path that this device has opened."""

    signal: "asyncio.Future[Candidates]"
    path: "IcePath | None" = None
    answer: "asyncio.Future[bytes] | None" = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def on_frame(self, frame: bytes) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(frame)


@dataclass(kw_only=True)
class DirectPaths:
    """All direct paths of one device; their event loop is started with the first."""

    own: str
    """This device's name on the platform."""
    secret: bytes
    send: Callable[[SendSignal], None]
    """Sends a signal through the platform. Raises AgentError."""
    handlers: Mapping[str, PeerHandler[Any]]
    """Handlers of requests, by the same URL paths as on the device's servers."""
    most_bytes: int = MAX_BODY_BYTES
    """Largest body in bytes."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _running: "_Running | None" = None
    """None before the first path."""
    _calls: dict[str, _Call] = field(default_factory=dict)
    """By device. This and the following fields are used only in the event loop."""
    _expected: dict[str, _Call] = field(default_factory=dict)
    """By name of the path, calls whose other side has sent no signal yet."""
    _seen_paths: dict[str, None] = field(default_factory=dict)
    """Names of paths that this device or others have opened, oldest first."""
    _answering: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)
    _silent: dict[str, float] = field(default_factory=dict)
    """By address, the time until which it is not tried, as a path reaches the device; used by callers' threads."""
    _resting: dict[str, tuple[float, str]] = field(default_factory=dict)
    """By device, the time until which it is not called, and the reason."""

    def ask(self, way: DirectPeer, handler: str, body: bytes, *, at_most_bytes: int) -> bytes:
        """The answer of a device's handler, of at most `at_most_bytes`. Raises Unreachable where none comes."""
        answer = self._run(self._ask(way, handler, body))
        answered, content = _read(answer)
        if answered.refusal is not None:
            raise Unreachable(f"device {way.device} does not answer: {answered.refusal.sentence}")
        if len(content) > at_most_bytes:
            raise Unreachable(f"device {way.device} answers with more than {at_most_bytes} bytes")
        return content

    def ask_nearest(self, address: str, way: DirectPeer, handler: str, body: bytes, *, at_most_bytes: int) -> bytes:
        """The same, at the device's address if it answers there, else by a direct path. Raises Unreachable."""
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
        """Whether a path to the device is open, so that no signal is needed."""
        call = self._calls.get(device)
        return call is not None and call.path is not None and not call.path.ended.is_set()

    def receive(self, signals: Sequence[Signal]) -> None:
        """Handle signals that others have sent to this device; repeated signals are ignored."""
        if signals:
            self._run(self._receive_signals(signals))

    def attend(self, situation: Situation) -> None:
        """Receive the signals of each directive until the `stop` of `situation` is set."""
        while not (now := situation.now).stopping:
            if now.directive is not None:
                self.receive(now.directive.signals)
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
                logging.getLogger("aioice").setLevel(logging.WARNING)  # it logs each candidate
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=_run_loop, args=[loop], name="direct-paths", daemon=True)
                replies = ThreadPoolExecutor(MAX_ANSWERING, "direct-reply")
                self._running = _Running(loop, thread, replies, Room(BODIES_AT_ONCE * self.most_bytes))
                thread.start()
            running = self._running
        return asyncio.run_coroutine_threadsafe(work, running.loop).result()

    def _require_running(self) -> _Running:
        """The running loop. Raises Unreachable while all paths are being closed."""
        if self._running is None:
            raise Unreachable("this device ends its direct paths")
        return self._running

    async def _ask(self, way: DirectPeer, handler: str, body: bytes) -> bytes:
        call = await self._open_call(way)
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

    async def _open_call(self, way: DirectPeer) -> _Call:
        """An open path to the device. Raises Unreachable."""
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
        path = self._path(name, way, call.on_frame, calls=True)
        self._expected[name] = call
        self._remember(name)  # a repeated signal of the other side must not be taken for a call
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

    async def _receive_signals(self, signals: Sequence[Signal]) -> None:
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
            elif signal.path not in self._seen_paths and len(self._answering) < MAX_ANSWERING:
                self._remember(signal.path)
                self._answering[signal.path] = asyncio.create_task(self._answer(signal.way, theirs))

    async def _answer(self, way: DirectPeer, theirs: Candidates) -> None:
        """Connect to the calling device, and answer it until the path ends."""
        running = self._require_running()

        async def on_frame(frame: bytes) -> None:
            # Not in the threads that signal: an answer may wait for a path that this device has to open.
            await path.send(await running.loop.run_in_executor(running.replies, self._reply, frame))

        path = self._path(theirs.path, way, on_frame, calls=False)
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
            line, sealed = split_sealed(body)
            return with_body(Answered(), handler.receive(handler.admit(line), sealed))
        except WireError as error:
            return with_body(Answered(Reason(error.code, error.detail[:400])))
        except OSError as error:
            log.warning("what another device brings cannot be stored: %s", error)
            return with_body(Answered(Reason("relay.busy", "this device has no room now")))

    def _path(self, name: str, way: DirectPeer, on_frame: Any, *, calls: bool) -> "IcePath":  # noqa: ANN401
        from coterie_agent.direct.ice import IcePath

        return IcePath(
            name=name,
            own=self.own,
            calls=calls,
            stun=way.stun,
            most_bytes=self.most_bytes,
            room=self._require_running().room,
            on_frame=on_frame,
        )

    async def _signal(self, way: DirectPeer, own: Candidates) -> None:
        sealed = seal(with_body(own), secret=self.secret, to=way.key)
        await asyncio.to_thread(self.send, SendSignal(own.path, way.device, sealed))

    async def _drop(self, device: str) -> None:
        call = self._calls.pop(device, None)
        if call is not None and call.path is not None:
            await call.path.close()

    def _remember(self, name: str) -> None:
        self._seen_paths[name] = None
        if len(self._seen_paths) > _REMEMBERED:
            del self._seen_paths[next(iter(self._seen_paths))]

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


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
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
