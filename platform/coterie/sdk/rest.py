"""Requests to a platform's REST API, answered as structs."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TypeVar

import httpx
import msgspec

from coterie.core.errors import Field
from coterie.sdk.errors import Refused, Unreachable
from coterie_wire.structs import from_json

T = TypeVar("T")
PAGE = 500
PATIENCE_S = 60.0
"""Seconds of retries of a query while the platform does not answer, e.g. during a restart."""
PAUSE_S = 1.0
TIMEOUT = httpx.Timeout(30.0, read=300.0, write=300.0)
NOT_NOW = (502, 503, 504)


class _Problem(msgspec.Struct, frozen=True):
    """RFC 9457, as the platform writes it."""

    code: str
    detail: str
    fields: dict[str, Field] = {}


class _Page(msgspec.Struct, frozen=True):
    results: msgspec.Raw


class Rest:
    """One platform with an API token. Every method raises Refused or Unreachable."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`transport` and `sleep` are those of the machine unless others are given."""
        self.url = url.rstrip("/")
        self._sleep = sleep
        self._http = httpx.Client(
            base_url=f"{self.url}/api/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT,
            transport=transport,
        )

    @property
    def http(self) -> httpx.Client:
        """The HTTP client, with the platform's ``/api/`` as base and the token."""
        return self._http

    def close(self) -> None:
        """End its connections."""
        self._http.close()

    def get(self, path: str, struct: type[T], **query: str) -> T:
        """Send a query; it is retried for `PATIENCE_S` if the platform does not answer."""
        return self._get(path, struct, query, PATIENCE_S)

    def get_at_once(self, path: str, struct: type[T]) -> T:
        """Send a query without retries, for somebody who waits for whether there is a platform."""
        return self._get(path, struct, {}, 0)

    def _get(self, path: str, struct: type[T], query: Mapping[str, str], patience_s: float) -> T:
        waited_s = 0.0
        while True:
            try:
                answer = self._http.get(path, params=query)
                if answer.status_code not in NOT_NOW:
                    break
                detail = f"it says {answer.status_code}"
            except httpx.TransportError as error:
                detail = str(error) or type(error).__name__
            if waited_s >= patience_s:
                raise Unreachable(self.url, detail)
            self._sleep(PAUSE_S)
            waited_s += PAUSE_S
        return _decoded(answer, struct)

    def page(self, path: str, struct: type[T], **query: str) -> list[T]:
        """The first `PAGE` of many."""
        page = self.get(path, _Page, page_size=str(PAGE), **query)
        return from_json(page.results, list[struct])  # type: ignore[valid-type] # a type made at run time

    def download(self, path: str, file: IO[bytes]) -> None:
        """Write what is there to `file`, a piece at a time."""
        try:
            with self._http.stream("GET", path) as answer:
                if not answer.is_success:
                    answer.read()
                    raise _refusal(answer)
                for piece in answer.iter_bytes():
                    file.write(piece)
        except httpx.TransportError as error:
            raise Unreachable(self.url, str(error) or type(error).__name__) from error

    def post(self, path: str, struct: type[T], body: Mapping[str, object]) -> T:
        """Send a request that changes something, without retries."""
        return self._post(path, struct, json=body)

    def upload(
        self, path: str, struct: type[T], fields: Mapping[str, str | Sequence[str]], files: Mapping[str, IO[bytes]]
    ) -> T:
        """Send a form with files, which are read as they are sent."""
        return self._post(path, struct, data=fields, files={name: (name, file) for name, file in files.items()})

    def pause(self) -> None:
        """Wait between two queries for progress."""
        self._sleep(PAUSE_S)

    def _post(self, path: str, struct: type[T], **content: object) -> T:
        try:
            answer = self._http.post(path, **content)  # type: ignore[arg-type] # as httpx names them
        except httpx.TransportError as error:
            raise Unreachable(self.url, str(error) or type(error).__name__) from error
        return _decoded(answer, struct)


def _decoded(answer: httpx.Response, struct: type[T]) -> T:
    if answer.is_success:
        return from_json(answer.content, struct)
    raise _refusal(answer)


def _refusal(answer: httpx.Response) -> Refused:
    try:
        problem = from_json(answer.content, _Problem)
    except msgspec.DecodeError as error:
        asked = f"{answer.request.method} {answer.request.url}"
        sentence = f"{asked} was answered with status {answer.status_code}, but not by a platform."
        raise Refused("sdk.unexpected_answer", sentence) from error
    return Refused(problem.code, problem.detail, problem.fields)
