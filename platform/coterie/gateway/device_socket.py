"""A device's socket: messages and their answers, and hints that something has changed."""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Final

import msgspec
from django.utils import timezone

from coterie.core.errors import CoterieError
from coterie.core.events import DROP, OPENED, WAKE, announce_socket
from coterie.core.metrics import DEVICE_SOCKETS, SOCKET_MESSAGES
from coterie.core.tracing import span
from coterie.fleet.copies import SocketOverlap, note_copy
from coterie.fleet.selectors import Shown, device_of
from coterie.gateway.connected import RESTART, Inbox, connected_devices
from coterie.gateway.door.body import Event, Receive
from coterie.gateway.door.certificates import CERTIFICATE
from coterie.gateway.door.devices import GATE
from coterie.gateway.door.requester import current_requester
from coterie.gateway.ending import ENDING
from coterie.gateway.http import Scope, Send, bearer, client_address, reply_with_problem
from coterie.gateway.messages import answer
from coterie.gateway.outage import UNANSWERED, check_database
from coterie.gateway.problems import problem_of
from coterie.gateway.threads import in_thread
from coterie.rounds.lost_supernodes import record_lost_socket
from coterie_wire.closing import SERVICE_RESTART as RESTART_CODE
from coterie_wire.closing import close_reason
from coterie_wire.errors import WireError
from coterie_wire.messages import EXCHANGES, PlatformFrame, Refusal, Reply, Wake, decode
from coterie_wire.messages import Request as RequestFrame

POLICY: Final = 1008  # RFC 6455, 7.4.1: the credential has ended
BAD_FRAME: Final = 1007
BROKEN_OFF: Final = (1005, 1006)  # without a word of either side
WAKE_FRAME: Final = msgspec.json.encode(Wake()).decode()


async def serve_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one socket until it closes, or the device's credential ends."""
    await receive()  # websocket.connect
    address = client_address(scope)
    async with AsyncExitStack() as stack:
        try:
            check_database()
            ENDING.check()
            credential = bearer(dict(scope["headers"]).get(b"authorization", b"").decode("latin-1"))
            shown = Shown(credential, scope.get(CERTIFICATE, ""))
            with GATE.recognised(shown, address):
                device_id = str((await GATE.find_device(shown)).pk)
                GATE.proven(shown)
            stack.enter_context(GATE.socket(device_id, address))
            inbox = await connected_devices().join(device_id)
            stack.push_async_callback(connected_devices().leave, device_id, inbox)
            # Revocations reach this socket from now on; one that came just before is looked for here.
            await in_thread(lambda: device_of(shown))
        except Exception as error:  # noqa: BLE001 - an outermost loop: every error is rendered, unforeseen ones logged
            await deny(scope, send, error)
            return
        with suppress(OSError):  # the device disconnected during a send; it connects again and asks for its state
            await send({"type": "websocket.accept"})
            announce_socket(device_id, inbox.socket)
            stack.enter_context(DEVICE_SOCKETS.track_inprogress())
            state = _SocketState(device_id)
            stack.push_async_callback(state.end)
            answering = _answer_frames(receive, send, shown, address, state)
            await first_of(answering, _pass_on_hints(inbox, send, shown, state))


@dataclass
class _SocketState:
    """The state of one socket of a device."""

    device_id: str
    answered_at: datetime | None = None
    """When the device was last answered."""
    broke_off: bool = False
    """Whether the connection was lost, instead of closed by either side."""
    overlap: SocketOverlap = field(default_factory=SocketOverlap)

    async def record_answer(self) -> None:
        """Record that the device was answered; if two agents run as it, record that for operators."""
        self.answered_at = now = timezone.now()
        if self.overlap.record_message(time.monotonic()):
            with suppress(*UNANSWERED):  # it is found again
                await in_thread(lambda: note_copy(device_id=self.device_id, now=now))

    async def end(self) -> None:
        """Record the loss of a socket that broke off."""
        answered_at = self.answered_at
        if answered_at is None or not self.broke_off:
            return
        try:
            await in_thread(
                lambda: record_lost_socket(device_id=self.device_id, heard_at=answered_at, now=timezone.now())
            )
        except UNANSWERED as error:  # it is missed when its time is up
            problem_of(error)


async def _answer_frames(receive: Receive, send: Send, shown: Shown, address: str, state: _SocketState) -> None:
    """One at a time: a device that sends faster than it is answered is slowed down by its own connection."""
    while True:
        event = await receive()
        if event["type"] == "websocket.disconnect":
            state.broke_off = event.get("code") in BROKEN_OFF
            return
        data: bytes = event.get("bytes") or (event.get("text") or "").encode()
        try:
            frame = decode(RequestFrame, data)
        except WireError as error:
            await send({"type": "websocket.close", "code": BAD_FRAME, "reason": error.code})
            return
        answered = await _answered(frame, shown, address)
        await state.record_answer()
        await send({"type": "websocket.send", "text": msgspec.json.encode(answered).decode()})


async def _answered(frame: RequestFrame, shown: Shown, address: str) -> PlatformFrame:
    requester = current_requester()
    try:
        check_database()
        requester.check()
        GATE.count(shown, address)
        async with GATE.turn(shown):
            answered = await _answer_frame(frame, shown)
    except CoterieError as error:
        answered = Refusal(id=frame.id, problem=problem_of(error))
    requester.record_answer(answered.problem.status if isinstance(answered, Refusal) else HTTPStatus.OK)
    return answered


async def _answer_frame(frame: RequestFrame, shown: Shown) -> PlatformFrame:
    route = frame.name if frame.name in EXCHANGES else "unknown"
    try:
        with span(f"socket {route}", kind="server"):
            body = await answer(frame.name, bytes(frame.body), shown, by_socket=True)
        SOCKET_MESSAGES.labels(route, "answered").inc()
        return Reply(id=frame.id, body=msgspec.Raw(body))
    except Exception as error:  # noqa: BLE001 - the outermost loop: a message that fails must not close the socket
        problem = problem_of(error)
        SOCKET_MESSAGES.labels(route, "failed" if problem.status >= 500 else "refused").inc()
        return Refusal(id=frame.id, problem=problem)


async def _pass_on_hints(inbox: Inbox, send: Send, shown: Shown, state: _SocketState) -> None:
    while True:
        hints = await inbox.take()
        if RESTART in hints:
            reason = close_reason(connected_devices().spread_s)
            await send({"type": "websocket.close", "code": RESTART_CODE, "reason": reason})
            return
        if OPENED in hints:
            state.overlap.record_newer_socket(time.monotonic())
        if WAKE in hints:
            await send({"type": "websocket.send", "text": WAKE_FRAME})
        if DROP in hints:
            try:
                await in_thread(lambda: device_of(shown))
            except CoterieError as error:
                await send({"type": "websocket.close", "code": POLICY, "reason": error.code})
                return
            except UNANSWERED as error:  # it is looked up for each message, too
                problem_of(error)


async def first_of(*works: Coroutine[None, None, None]) -> None:
    """Run `works` until one is done; the others end with it."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def deny(scope: Scope, send: Send, error: Exception) -> None:
    """Refuse the handshake with the problem as its response, where the server can; else by the close code."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": POLICY, "reason": problem_of(error).code})
        return

    async def send_denial(event: Event) -> None:
        await send({**event, "type": f"websocket.{event['type']}"})

    await reply_with_problem(send_denial, error)
