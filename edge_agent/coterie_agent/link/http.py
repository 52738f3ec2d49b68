"""HTTPS: messages as POST, blobs as ranged GET, uploads as PATCH in chunks (after the tus protocol 1.0)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeVar

import msgspec
import urllib3

from coterie_agent import VERSION
from coterie_agent.link.failure import CREDENTIAL_UNKNOWN, Refused, Unreachable
from coterie_agent.link.tracing import TraceHeader
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.message import Message
from coterie_wire.messages import EXCHANGES, MAX_MESSAGE_BYTES, Problem, UploadState, decode
from coterie_wire.structs import from_json
from coterie_wire.version import PRESIGNED

R = TypeVar("R", bound=Message)
RecordSent = Callable[[str, int], None]
"""Called with what is about to leave the device, and its size in bytes."""

UploadKind = Literal["update", "masked-update", "portion", "partial"]
_UPLOADED_TO: Mapping[UploadKind, str] = {
    "update": "uploads",
    "masked-update": "uploads",
    "portion": "portions",
    "partial": "partials",
}
_TIMEOUT = urllib3.Timeout(connect=10, read=30)
_READ_BYTES = 64 << 10
TEMPORARY_REDIRECT = 307
NAMES = {exchange.request: name for name, exchange in EXCHANGES.items()}


class HttpLink:
    """Requests to one platform. Safe to use from several threads."""

    def __init__(
        self,
        url: str,
        *,
        credential: str | None,
        record_sent: RecordSent,
        ca_file: str | None = None,
        trace: TraceHeader | None = None,
    ) -> None:
        """`trace` makes the value of each request's ``traceparent``; None: requests have none."""
        self._base = f"{url.rstrip('/')}/device/v1"
        self._headers = {"User-Agent": f"coterie-agent/{VERSION}", "Accept": "application/json"}
        self._trace = trace
        self._credential = credential
        self.go_back: Callable[[], bool] = lambda: False
        """Asked where the platform does not know the credential: whether another is used from now on."""
        self._record_sent = record_sent
        self._goes_to_storage = True
        self._pool = urllib3.PoolManager(maxsize=3, retries=False, timeout=_TIMEOUT, ca_certs=ca_file)

    def use_credential(self, credential: str) -> None:
        """Show this one from the next request on."""
        self._credential = credential

    def call(self, message: Message, reply: type[R]) -> R:
        """The platform's reply to `message`.

        Raises Unreachable or Refused.
        """
        name = NAMES[type(message)]
        body = msgspec.json.encode(message)
        self._record_sent(name, len(body))
        with self._request("POST", f"/{name}", body=body, headers={"Content-Type": "application/json"}) as response:
            return _decode(_read(response), reply)

    def download(self, sha256: str, offset: int) -> Iterator[bytes]:
        """The bytes of a blob from `offset` on.

        Raises Unreachable or Refused.
        """
        return self._download(f"/blobs/{sha256}", offset)

    def download_portion(self, transfer: str, offset: int) -> Iterator[bytes]:
        """The bytes of a transfer's portion from `offset` on.

        Raises Unreachable or Refused.
        """
        return self._download(f"/portions/{transfer}", offset)

    def download_release(self, path: str) -> Iterator[bytes]:
        """The bytes of a file of the repository of releases, which the platform passes on as it is.

        Raises Unreachable or Refused.
        """
        place = f"/releases/{path}"
        with self._request("GET", place, body=None, headers={}) as response:
            yield from self._received(place, response, 0)

    def _download(self, path: str, offset: int) -> Iterator[bytes]:
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        preference = {"Prefer": PRESIGNED} if self._goes_to_storage else {}
        with self._request("GET", path, body=None, headers={**headers, **preference}) as response:
            if response.status != TEMPORARY_REDIRECT:
                yield from self._received(path, response, offset)
                return
            if response.headers.get("Preference-Applied") != PRESIGNED:
                raise Unreachable("a redirection that the platform did not make")
            place = response.headers.get("Location", "")
        yield from self._from_storage(path, place, headers, offset)

    def _from_storage(self, path: str, url: str, headers: Mapping[str, str], offset: int) -> Iterator[bytes]:
        """What the object storage sends, which is told nothing but the URL: the credential is the platform's alone.

        Bytes are hashed by who keeps them. A storage that this device cannot reach is not asked again.
        """
        if self._base.startswith("https:") and not url.startswith("https:"):
            self._goes_to_storage = False
            raise Unreachable("the platform sends downloads to an object storage without TLS")
        try:
            response = self._pool.request("GET", url, headers=headers, preload_content=False, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            self._goes_to_storage = False
            raise Unreachable(f"the object storage does not answer: {_sentence(error)}") from error
        try:
            if response.status not in (200, 206):
                self._goes_to_storage = False
                raise Unreachable(f"the object storage answers {response.status}; the platform itself is asked next")
            yield from self._received(path, response, offset)
        finally:
            response.close()

    @staticmethod
    def _received(path: str, response: urllib3.BaseHTTPResponse, offset: int) -> Iterator[bytes]:
        skip = 0 if response.status == 206 else offset  # 200: the server sends the whole blob again
        try:
            for chunk in response.stream(_READ_BYTES):
                if skip >= len(chunk):
                    skip -= len(chunk)
                else:
                    yield chunk[skip:]
                    skip = 0
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"the download of {path} broke off: {error}") from error

    def upload(self, what: UploadKind, key: str, *, offset: int, chunk: bytes) -> UploadState:
        """Send one piece of an assignment's upload, a transfer's portion, or a sum; return how many bytes have arrived.

        Raises Unreachable or Refused.
        """
        self._record_sent(what, len(chunk))
        headers = {"Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"}
        with self._request("PATCH", f"/{_UPLOADED_TO[what]}/{key}", body=chunk, headers=headers) as response:
            return _decode(_read(response), UploadState)

    @contextmanager
    def _request(
        self, method: str, path: str, *, body: bytes | None, headers: dict[str, str]
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        shown = self._credential
        own = {} if shown is None else {"Authorization": f"Bearer {shown}"}
        if self._trace is not None:
            own["traceparent"] = self._trace()
        try:
            response = self._pool.request(
                method,
                self._base + path,
                body=body,
                headers={**self._headers, **own, **headers},
                preload_content=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"{self._base} does not answer: {_sentence(error)}") from error
        try:
            if response.status >= 300 and response.status != TEMPORARY_REDIRECT:
                raise self._refused(_problem(response.status, _read(response)), shown)
            yield response
        except BaseException:
            response.close()  # what was not read would be taken for the next answer
            raise
        response.drain_conn()
        response.release_conn()

    def _refused(self, problem: Problem, shown: str | None) -> Refused | Unreachable:
        """What to raise: the end of a credential that another has replaced meanwhile is not the device's end."""
        refused = Refused(problem)
        is_replaced = refused.is_revoked and self._credential != shown
        if is_replaced or (problem.code == CREDENTIAL_UNKNOWN and self.go_back()):
            return Unreachable("the credential was replaced meanwhile; the other is shown next")
        return refused


def _read(response: urllib3.BaseHTTPResponse) -> bytes:
    try:
        body = response.read(MAX_MESSAGE_BYTES + 1, decode_content=True)
    except urllib3.exceptions.HTTPError as error:
        raise Unreachable(f"the answer broke off: {_sentence(error)}") from error
    if len(body) > MAX_MESSAGE_BYTES:
        raise Unreachable(f"an answer of more than {MAX_MESSAGE_BYTES} bytes is not the platform's")
    return body


def _decode(body: bytes, reply: type[R]) -> R:
    try:
        return decode(reply, body)
    except WireError as error:
        raise Unreachable(f"an answer that is not the platform's: {error.detail}") from error


def _problem(status: int, body: bytes) -> Problem:
    """The platform's error; an error page of a proxy or a captive portal is not an answer."""
    try:
        return from_json(body, Problem)
    except UNREADABLE as error:
        raise Unreachable(f"HTTP {status} from something that is not the platform") from error


def _sentence(error: urllib3.exceptions.HTTPError) -> str:
    """The cause, without the objects that urllib3 prints in front of it."""
    return str(getattr(error, "reason", error)).rpartition(">: ")[2] or type(error).__name__
