"""HTTPS: messages as POST, blobs as ranged GET, uploads as PATCH in chunks (after the tus protocol 1.0)."""

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from http.client import BadStatusLine, RemoteDisconnected
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import urllib3

from coterie_agent import VERSION
from coterie_agent.link.failure import CERTIFICATE_REFUSED, CREDENTIAL_UNKNOWN, Refused, Unreachable
from coterie_agent.link.tls import client_context, cuts_connection, refuses_certificate, speaks_no_tls
from coterie_agent.link.tracing import TraceHeader
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.message import Message
from coterie_wire.messages import EXCHANGES, MAX_MESSAGE_BYTES, Problem, UploadState, decode
from coterie_wire.structs import from_json
from coterie_wire.version import PRESIGNED

R = TypeVar("R", bound=Message)
RecordSent = Callable[[str, int], None]
"""Called with what is about to be sent from the device, and its size in bytes."""

UploadKind = Literal["update", "masked-update", "portion", "partial"]
_UPLOADED_TO: Mapping[UploadKind, str] = {
    "update": "uploads",
    "masked-update": "uploads",
    "portion": "portions",
    "partial": "partials",
}
_CONNECT_S, _READ_S = 10, 30
_TIMEOUT = urllib3.Timeout(connect=_CONNECT_S, read=_READ_S)
_READ_BYTES = 64 << 10
_CONNECTIONS = 3
_CUTS = 3
"""Consecutive connections without an answer that count as a refusal of the certificate."""
_NOT_NOW = (9, 10)
"""X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED of OpenSSL."""
_WITHOUT_CERTIFICATE = frozenset({"/ask-certificate"})
"""Requests without a certificate, as the current one may be refused."""
TEMPORARY_REDIRECT = 307
BAD_REQUEST = 400
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
        certificate: Path | None = None,
        trace: TraceHeader | None = None,
    ) -> None:
        """`certificate`: file with the client certificate and its key, which need not exist yet; None: no certificate.

        A replaced certificate is used from the next request on. `trace` computes the value of each request's
        ``traceparent``; None: requests have none.
        """
        self._base = f"{url.rstrip('/')}/device/v1"
        self._headers = {"User-Agent": f"coterie-agent/{VERSION}", "Accept": "application/json"}
        self._trace = trace
        self._credential = credential
        self.use_former_credential: Callable[[], bool] = lambda: False
        """Called where the platform does not know the credential; whether another is used from now on."""
        self._record_sent = record_sent
        self._uses_storage = True
        self._ca_file, self._certificate = ca_file, certificate if url.startswith("https:") else None
        self._pool = urllib3.PoolManager(maxsize=_CONNECTIONS, retries=False, timeout=_TIMEOUT, ca_certs=ca_file)
        self._certified, self._certified_at = self._pool, 0
        self._lock = threading.Lock()
        self._cuts = 0
        self.certify: Callable[[], bool] = lambda: False
        """Called where the platform, or a proxy before it, refuses the certificate; whether another is used from now
        on."""

    def use_credential(self, credential: str) -> None:
        """Use this credential from the next request on."""
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
        """The bytes of a file of the repository of releases, which the platform serves unchanged.

        Raises Unreachable or Refused.
        """
        place = f"/releases/{path}"
        with self._request("GET", place, body=None, headers={}) as response:
            yield from self._received(place, response, 0)

    def _download(self, path: str, offset: int) -> Iterator[bytes]:
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        preference = {"Prefer": PRESIGNED} if self._uses_storage else {}
        with self._request("GET", path, body=None, headers={**headers, **preference}) as response:
            if response.status != TEMPORARY_REDIRECT:
                yield from self._received(path, response, offset)
                return
            if response.headers.get("Preference-Applied") != PRESIGNED:
                raise Unreachable("a redirection that the platform did not make")
            place = response.headers.get("Location", "")
        yield from self._from_storage(path, place, headers, offset)

    def _from_storage(self, path: str, url: str, headers: Mapping[str, str], offset: int) -> Iterator[bytes]:
        """The bytes from the object storage, which receives only the URL, never the credential.

        The caller verifies the hash. A storage that this device cannot reach is not tried again.
        """
        if self._base.startswith("https:") and not url.startswith("https:"):
            self._uses_storage = False
            raise Unreachable("the platform sends downloads to an object storage without TLS")
        try:
            response = self._pool.request("GET", url, headers=headers, preload_content=False, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            self._uses_storage = False
            raise Unreachable(f"the object storage does not answer: {_sentence(error)}") from error
        try:
            if response.status not in (200, 206):
                self._uses_storage = False
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
        credential = self._credential
        own = {} if credential is None else {"Authorization": f"Bearer {credential}"}
        if self._trace is not None:
            own["traceparent"] = self._trace()
        pool = self._pool if path in _WITHOUT_CERTIFICATE else self._certified_pool()
        try:
            response = pool.request(
                method,
                self._base + path,
                body=body,
                headers={**self._headers, **own, **headers},
                preload_content=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            if pool is not self._pool:
                self._check_certificate(error)
            raise Unreachable(f"{self._base} does not answer: {_sentence(error)}") from error
        self._cuts = 0
        try:
            if response.status >= 300 and response.status != TEMPORARY_REDIRECT:
                raise self._refused(response.status, _read(response), credential, certified=pool is not self._pool)
            yield response
        except BaseException:
            response.close()  # unread bytes would be taken for the next answer
            raise
        response.drain_conn()
        response.release_conn()

    def _certified_pool(self) -> urllib3.PoolManager:
        """Connections with the current certificate, which another process may replace; without one if there is none."""
        if self._certificate is None:
            return self._pool
        try:
            written_at = self._certificate.stat().st_mtime_ns
        except FileNotFoundError:
            return self._pool
        with self._lock:
            if written_at != self._certified_at:
                context = client_context(ca_file=self._ca_file, certificate=self._certificate)
                self._certified = urllib3.PoolManager(
                    maxsize=_CONNECTIONS, retries=False, timeout=_TIMEOUT, ssl_context=context
                )
                self._certified_at = written_at
            return self._certified

    def _check_certificate(self, error: urllib3.exceptions.HTTPError) -> None:
        """Request another certificate where the current one may be why a request has failed.

        Some servers send a TLS alert; others, such as asyncio's, only close the connection. The request for another is
        answered only where the platform can be reached without a certificate.
        """
        self._cuts += cuts_connection(error)
        if refuses_certificate(error) or self._cuts >= _CUTS:
            self._cuts = 0
            self.certify()

    def _refused(self, status: int, body: bytes, credential: str | None, *, certified: bool) -> Refused | Unreachable:
        """The error to raise; if a refused credential was replaced meanwhile, the device retries with the new one.

        A proxy that refuses a certificate may answer with its own page (nginx: status 400).
        """
        try:
            problem = _problem(status, body)
        except Unreachable:
            if certified and status == BAD_REQUEST:
                self.certify()
            raise
        if problem.code in CERTIFICATE_REFUSED and self.certify():
            return Unreachable("the device has another certificate, which is shown next")
        refused = Refused(problem)
        is_replaced = refused.is_revoked and self._credential != credential
        if is_replaced or (problem.code == CREDENTIAL_UNKNOWN and self.use_former_credential()):
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
    """The platform's error. Raises Unreachable for the error page of a proxy or a captive portal."""
    try:
        return from_json(body, Problem)
    except UNREADABLE as error:
        raise Unreachable(f"HTTP {status} from something that is not the platform") from error


def _sentence(error: urllib3.exceptions.HTTPError) -> str:
    """Why there was no answer, for the owner."""
    if speaks_no_tls(error):
        return "it does not speak TLS; in a network that you trust, an address with http:// does without"
    match error:
        case urllib3.exceptions.NameResolutionError():
            return "its name is not found; is there a network, and is the name right?"
        case urllib3.exceptions.NewConnectionError():  # it is a ConnectTimeoutError, too, and says why below
            pass
        case urllib3.exceptions.ConnectTimeoutError():
            return f"no connection within {_CONNECT_S} s"
        case urllib3.exceptions.ReadTimeoutError():
            return f"nothing has come for {_READ_S} s"
    inner = [part for part in error.args if isinstance(part, Exception)]
    cause = inner[-1] if inner else error.__cause__ or error.__context__ or error
    match cause:
        case ssl.SSLCertVerificationError():
            advice = "ca_file in agent.toml names others to trust"
            if cause.verify_code in _NOT_NOW:
                advice = f"is the clock of this device right? By it, it is {datetime.now():%Y-%m-%d %H:%M}"
            return f"its certificate is not trusted ({cause.verify_message}); {advice}"
        case RemoteDisconnected():
            return "it has closed the connection"
        case BadStatusLine():
            return "what answers there does not speak HTTP"
        case OSError(strerror=str(sentence)):
            return sentence
    return str(cause) or type(cause).__name__
