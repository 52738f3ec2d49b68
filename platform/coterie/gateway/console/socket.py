"""One console's socket: authentication, the state it has already, then frames until it disconnects."""

import asyncio
from typing import Final
from urllib.parse import urlsplit

import msgspec

from coterie.core.acting import Actor, OperatorRole, Scope
from coterie.core.errors import CoterieError, ErrorKind
from coterie.gateway.console.frames import ClientFrame, Hello, Watch
from coterie.gateway.console.hub import Listener, hub
from coterie.gateway.credentials import operator_behind
from coterie.gateway.device_socket import deny, first_of
from coterie.gateway.door.body import Receive
from coterie.gateway.http import Scope as AsgiScope
from coterie.gateway.http import Send
from coterie.gateway.outage import UNANSWERED, check_database
from coterie.gateway.problems import problem_of
from coterie.gateway.threads import in_thread
from coterie_wire.errors import UNREADABLE
from coterie_wire.structs import from_json

PATH: Final = "/console/v1/socket"
POLICY: Final = 1008
BAD_FRAME: Final = 1007
TRY_AGAIN: Final = 1013
HELLO_S: Final = 10.0
"""Seconds within which a console must send its hello."""
RECHECK_S: Final = 10.0
"""Seconds after which, at most, a socket ends whose session or token has ended."""


class ForeignOrigin(CoterieError):
    """Fields: origin."""

    code = "gateway.foreign_origin"
    kind = ErrorKind.FORBIDDEN
    sentence = "A page of {origin} may not speak for the person who is signed in here."


async def serve_console(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """Send one console all changes until it disconnects, or its session or token ends."""
    await receive()  # websocket.connect
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    try:
        check_database()
        project = (await in_thread(lambda: authenticate_console(headers))).project
    except Exception as error:  # noqa: BLE001 - the outermost loop: every error is rendered, the unforeseen ones logged
        await deny(scope, send, error)
        return
    await send({"type": "websocket.accept"})
    listener = None
    try:
        hello = await asyncio.wait_for(_frame(receive), HELLO_S)
        if not isinstance(hello, Hello):
            await send({"type": "websocket.close", "code": BAD_FRAME, "reason": "gateway.hello_expected"})
            return
        listener = await hub(project).join(hello)
        tasks = _send_frames(send, listener), _recheck_access(send, headers, project)
        await first_of(_listen(receive, listener, project), *tasks)
    except CoterieError as error:
        await send({"type": "websocket.close", "code": POLICY, "reason": error.code})
    except UNREADABLE:
        await send({"type": "websocket.close", "code": BAD_FRAME, "reason": "wire.malformed"})
    except TimeoutError:
        await send({"type": "websocket.close", "code": BAD_FRAME, "reason": "gateway.hello_expected"})
    except UNANSWERED as error:
        await send({"type": "websocket.close", "code": TRY_AGAIN, "reason": problem_of(error).code})
    except (OSError, _Disconnected):
        pass  # it disconnected; on its next connection it sends what it has
    finally:
        if listener is not None:
            await hub(project).leave(listener)


def authenticate_console(headers: "dict[str, str]") -> Actor:
    """The operator or token of a handshake, who must be allowed to read.

    Raises ApiTokenInvalid, NobodyActs, ScopeNeeded or others.
    """
    if "authorization" not in headers:
        _check_origin(headers)
    actor = operator_behind(headers)
    actor.require(OperatorRole.VIEWER, Scope.READ)
    return actor


def _check_origin(headers: "dict[str, str]") -> None:
    """A browser sends its cookies with sockets that any page opens, so the page must be ours. Raises ForeignOrigin."""
    origin = headers.get("origin", "")
    if urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        raise ForeignOrigin(origin=origin)


class _Disconnected(Exception):
    """The console has closed the connection."""


async def _frame(receive: Receive) -> ClientFrame:
    event = await receive()
    if event["type"] == "websocket.disconnect":
        raise _Disconnected
    data = event.get("bytes") or (event.get("text") or "").encode()
    frame: ClientFrame = from_json(data, ClientFrame)
    return frame


async def _listen(receive: Receive, listener: Listener, project: int | None) -> None:
    while True:
        frame = await _frame(receive)
        if isinstance(frame, Watch):
            await hub(project).watch(listener, frame.devices)


async def _send_frames(send: Send, listener: Listener) -> None:
    while True:
        frame = await listener.frames.get()
        if listener.behind:
            await send({"type": "websocket.close", "code": TRY_AGAIN, "reason": "gateway.console_behind"})
            return
        await send({"type": "websocket.send", "text": msgspec.json.encode(frame).decode()})


async def _recheck_access(send: Send, headers: "dict[str, str]", project: int | None) -> None:
    """Close the socket when its session or token ends, or acts in another project, whose snapshot differs."""
    while True:
        await asyncio.sleep(RECHECK_S)
        if (await in_thread(lambda: authenticate_console(headers))).project != project:
            await send({"type": "websocket.close", "code": TRY_AGAIN, "reason": "gateway.other_project"})
            return
