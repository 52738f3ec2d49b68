"""Requests to a running platform's REST API; its errors are shown as it writes them."""

from collections.abc import Mapping
from typing import TypeVar

import click
import httpx
import msgspec

from coterie.cli.failures import Failed
from coterie.core.login import Login
from coterie_wire.structs import from_json

T = TypeVar("T")
TIMEOUT = httpx.Timeout(10.0, read=60.0)


class Person(msgspec.Struct, frozen=True):
    """Whose token it is."""

    username: str
    role: str


class Session(msgspec.Struct, frozen=True):
    """The signed-in person."""

    operator: Person | None


class _Problem(msgspec.Struct, frozen=True):
    """RFC 9457, as the platform writes it."""

    code: str
    detail: str


def chosen_transport() -> httpx.BaseTransport | None:
    """What the command's context carries requests with; None: this machine's network."""
    return click.get_current_context().find_object(httpx.BaseTransport)


class Connection:
    """A connection to one platform. Every method raises Failed."""

    def __init__(self, login: Login, transport: httpx.BaseTransport | None = None) -> None:
        """`transport` is that of the machine unless another is given."""
        self._url = login.url
        self._http = httpx.Client(
            base_url=f"{login.url}/api/",
            headers={"Authorization": f"Bearer {login.token}"},
            timeout=TIMEOUT,
            transport=transport,
        )

    def get(self, path: str, struct: type[T], query: Mapping[str, str] | None = None) -> T:
        """What is at `path`."""
        return from_json(self.request("GET", path, query=query), struct)

    def request(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> bytes:
        """The answer's content, JSON or empty."""
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            answer = self._http.request(method, path, params=query, content=body, headers=headers)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise Failed("cli.unreachable", f"{self._url} does not answer: {error or type(error).__name__}.") from error
        if answer.is_success:
            return answer.content
        try:
            problem = from_json(answer.content, _Problem)
        except msgspec.DecodeError as error:
            sentence = f"{method} {answer.request.url} was answered with {answer.status_code}, but not by a platform."
            raise Failed("cli.not_a_platform", sentence) from error
        raise Failed(problem.code, problem.detail)
