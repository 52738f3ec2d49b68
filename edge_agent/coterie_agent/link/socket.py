"""The control socket: one thread reads its frames, any thread may send a request."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import msgspec
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect

from coterie_agent import VERSION
from coterie_agent.errors import AgentError
from coterie_agent.link.conversation import Broken, Conversation
from coterie_agent.link.failure import Refused, Unreachable
from coterie_agent.link.http import NAMES, RecordSent
from coterie_agent.link.tls import client_context
from coterie_wire.closing import reconnect_spread_s
from coterie_wire.errors import WireError
from coterie_wire.message import Message
from coterie_wire.messages import MAX_MESSAGE_BYTES, Refusal, Reply, decode

R = TypeVar("R", bound=Message)
_ANSWER_TIMEOUT_S = 30.0
_LIBRARY = logging.getLogger("websockets.client")
_LIBRARY.setLevel(logging.CRITICAL)
"""It logs tracebacks of connections that break, of which the caller tells the owner."""
_HEARTBEAT_S = 20.0
_OPEN_TIMEOUT_S = 5.0


class SocketLink:
    """One connection; once closed by either side, it stays closed."""

    def __init__(
        self,
        url: str,
        *,
        credential: str,
        on_wake: Callable[[], None],
        on_close: Callable[[], None],
        record_sent: RecordSent,
        ca_file: str | None = None,
        certificate: Path | None = None,
    ) -> None:
        """Connect, with the client certificate if the file exists.

        `on_wake` and `on_close` are called from the reading thread.

        Raises Unreachable.
        """
        self._on_wake, self._on_close, self._record_sent = on_wake, on_close, record_sent
        self._conversation = Conversation()
        self._waiting: dict[int, Future[bytes]] = {}
        self._lock = threading.Lock()
        self.spread_s = 0.0
        """Width in seconds of the window in which the device reconnects after the platform has closed the socket."""
        self._open = ExitStack()
        self._connection = _connect(self._open, url, credential, ca_file, certificate)
        self._reader = threading.Thread(target=self._read, name="socket", daemon=True)
        self._reader.start()

    def call(self, message: Message, reply: type[R]) -> R:
        """The platform's reply to `message`.

        Raises Unreachable or Refused.
        """
        name, body = NAMES[type(message)], msgspec.json.encode(message)
        answer: Future[bytes] = Future()
        with self._lock:
            id_, frame = self._conversation.request(name, body)
            self._waiting[id_] = answer
        try:
            self._record_sent(name, len(frame))
            self._connection.send(frame)
            return decode(reply, answer.result(_ANSWER_TIMEOUT_S))
        except TimeoutError as error:
            self.close()
            raise Unreachable(f"no answer on the socket within {_ANSWER_TIMEOUT_S:.0f} s") from error
        except ConnectionClosed as error:
            raise Unreachable("the socket closed") from error
        except WireError as error:
            raise Unreachable(f"an answer that is not the platform's: {error.detail}") from error
        finally:
            with self._lock:
                self._waiting.pop(id_, None)

    def close(self) -> None:
        self._open.close()

    def _read(self) -> None:
        try:
            for text in self._connection:
                event = self._conversation.receive(text)
                if isinstance(event, Broken):
                    break
                if isinstance(event, Reply):
                    self._settle(event.id, bytes(event.body))
                elif isinstance(event, Refusal):
                    self._settle(event.id, Refused(event.problem))
                else:
                    self._on_wake()
        except ConnectionClosed as closed:  # the heartbeat was not answered, or the other side closed
            if closed.rcvd is not None:
                self.spread_s = reconnect_spread_s(closed.rcvd.code, closed.rcvd.reason)
        finally:
            self._open.close()
            with self._lock:
                unanswered = list(self._waiting)
            for id_ in unanswered:
                self._settle(id_, Unreachable("the socket closed"))
            self._on_close()

    def _settle(self, id_: int, outcome: bytes | AgentError) -> None:
        with self._lock:
            answer = self._waiting.pop(id_, None)
        if answer is None:
            return  # the caller has given up
        if isinstance(outcome, bytes):
            answer.set_result(outcome)
        else:
            answer.set_exception(outcome)


def _connect(
    stack: ExitStack, url: str, credential: str, ca_file: str | None, certificate: Path | None
) -> ClientConnection:
    """A connection that `stack` closes."""
    address = f"ws{url.rstrip('/').removeprefix('http')}/device/v1/socket"  # http -> ws, https -> wss
    try:
        tls = client_context(ca_file=ca_file, certificate=certificate) if address.startswith("wss:") else None
        opening = connect(
            address,
            logger=_LIBRARY,
            ssl=tls,
            additional_headers={"Authorization": f"Bearer {credential}"},
            user_agent_header=f"coterie-agent/{VERSION}",
            compression=None,  # frames are small, and deflate costs the platform 30 KB for each device
            proxy=None,  # as for HTTPS: connect to the owner's URL directly
            max_size=MAX_MESSAGE_BYTES,
            open_timeout=_OPEN_TIMEOUT_S,
            ping_interval=_HEARTBEAT_S,
            ping_timeout=_HEARTBEAT_S,
            close_timeout=1,
        )
        return stack.enter_context(opening)
    except (OSError, WebSocketException) as error:  # TimeoutError is an OSError
        raise Unreachable(f"no socket at {address}: {error}") from error
