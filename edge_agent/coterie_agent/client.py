"""For programs on this device: predictions from ``coterie-agent serve``, over its Unix socket or 127.0.0.1.

from coterie_agent.client import Predictions

with Predictions() as model:
    answer = model.predict([[0.1, 0.2, 0.3]], deadline_ms=50, stream="camera-1")
    print(answer.predictions[0].label)
"""

import http.client
import socket
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import DEFAULT_HOME, Home
from coterie_agent.loopback import Address
from coterie_agent.serving.messages import PredictionAnswer
from coterie_agent.store.serving import Serving
from coterie_wire.errors import UNREADABLE
from coterie_wire.messages import Problem
from coterie_wire.structs import from_json

_TIMEOUT_S = 90.0
"""Longer than any deadline: the service itself keeps those."""
Features = Sequence[float] | Mapping[str, Sequence[float]]
"""One sample, flattened in the order of the model's inputs, or by their names."""


class PredictionRefused(AgentError):
    """The service refused the request; `code` and `detail` are those of its answer, `status` is HTTP's."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code, problem.detail, exit_code=Exit.REFUSED)
        self.status = problem.status

    @property
    def is_passing(self) -> bool:
        """Whether the same request can succeed a moment later."""
        return self.status == HTTPStatus.SERVICE_UNAVAILABLE


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Predictions:
    """One connection to the service, which is made when it is first needed, and again when it was lost.

    It is for one thread at a time; let each thread have its own.
    """

    def __init__(self, home: Path = DEFAULT_HOME) -> None:
        """Of the agent that lives in `home`."""
        self._file = Home(home.expanduser()).serving
        self._connection: http.client.HTTPConnection | None = None
        self._headers: dict[str, str] = {}

    def predict(
        self, samples: Sequence[Features], *, deadline_ms: float | None = None, stream: str = ""
    ) -> PredictionAnswer:
        """What the model on this device says about `samples`, 256 at most.

        `deadline_ms`: within what the answer must come; without one agent.toml says it. `stream`: of what the samples
        are; a late answer can be the last one of the same stream, or the platform's where the device's owner lets
        samples go there, and its field `fallback` says so.

        Raises PredictionRefused, e.g. ``serve.busy`` or ``serve.late``, or AgentError ``serve.not_running``.
        """
        ask: dict[str, object] = {"samples": [{"x": sample} for sample in samples], "stream": stream}
        if deadline_ms is not None:
            ask["deadline_ms"] = deadline_ms
        return from_json(self._call("POST", "/predict", msgspec.json.encode(ask)), PredictionAnswer)

    def status(self) -> Serving:
        """Which model predicts, and what has happened since the service began.

        Raises AgentError ``serve.not_running``.
        """
        return from_json(self._call("GET", "/status", b""), Serving)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, method: str, path: str, body: bytes) -> bytes:
        """Predictions change nothing, so a request on a connection that was lost is simply asked again, once."""
        was_open = self._connection is not None
        try:
            return self._ask(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if not was_open:
                raise _not_running(str(error)) from error
        try:
            return self._ask(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise _not_running(str(error)) from error

    def _ask(self, method: str, path: str, body: bytes) -> bytes:
        connection = self._connection or self._connect()
        connection.request(method, path, body, self._headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != HTTPStatus.OK:
            if answer.will_close:
                self.close()
            raise _refused(answer.status, content)
        return content

    def _connect(self) -> http.client.HTTPConnection:
        try:
            address = from_json(self._file.read_bytes(), Address)
        except (OSError, *UNREADABLE) as error:
            raise _not_running(f"{self._file}: {error}") from error
        if address.socket:
            self._headers, self._connection = {}, _UnixConnection(address.socket)
        else:
            self._headers = {"Authorization": f"Bearer {address.token}"}
            host = address.url.removeprefix("http://")
            self._connection = http.client.HTTPConnection(host, timeout=_TIMEOUT_S)
        return self._connection


def _refused(status: int, content: bytes) -> PredictionRefused:
    try:
        return PredictionRefused(from_json(content, Problem))
    except UNREADABLE:  # too many connections: turned away before a word was read
        detail = "too many connections to the service; close some, or raise `connections` in agent.toml, [serving]"
        return PredictionRefused(Problem("serve.busy", "Service Unavailable", status, detail))


def _not_running(detail: str) -> AgentError:
    return AgentError("serve.not_running", f"no prediction service answers ({detail}); run: coterie-agent serve")
