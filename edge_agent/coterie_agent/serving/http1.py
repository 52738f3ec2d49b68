"""Requests of HTTP/1.1 out of a connection's bytes (RFC 9112); what is malformed or too large is refused. Pure."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

from coterie_agent.bounded_server import MAX_HEAD_BYTES
from coterie_agent.site import MAX_BODY_BYTES, RequestError, length_of_body

_HEAD_ENDS = b"\r\n\r\n"
_METHODS = frozenset({"GET", "POST"})


class Head(NamedTuple):
    """What comes before a request's body."""

    method: str
    path: str
    headers: Mapping[str, str]
    """By names in lower case; values of one name are joined with commas."""
    keeps: bool
    """Whether the connection is to stay after the answer."""


class Request(NamedTuple):
    """All of a request."""

    head: Head
    body: bytes


class Requests:
    """The bytes of one connection that are not yet taken, and the request that they begin with."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._head: Head | None = None
        self._length = 0

    def __len__(self) -> int:
        """Bytes that wait."""
        return len(self._bytes)

    def receive(self, data: bytes) -> None:
        """These came next."""
        self._bytes += data

    @property
    def has_begun(self) -> bool:
        """Whether a part of a request is there."""
        return self._head is not None or bool(self._bytes)

    @property
    def waits_for_leave(self) -> bool:
        """Whether the other side sends the body only when it is told to go on (RFC 9110, 10.1.1)."""
        head = self._head
        return head is not None and not self._bytes and head.headers.get("expect", "").lower() == "100-continue"

    def take(self) -> Request | None:
        """The next request; None: it is not all there.

        Raises RequestError ``local_api.malformed``, ``local_api.no_length`` or ``local_api.too_large``, after which
        nothing more can be taken.
        """
        if self._head is None:
            end = self._bytes.find(_HEAD_ENDS)
            if max(end, len(self._bytes) if end < 0 else 0) > MAX_HEAD_BYTES:
                detail = f"headers of more than {MAX_HEAD_BYTES} bytes"
                raise RequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "local_api.malformed", detail)
            if end < 0:
                return None
            self._head = _parsed(self._bytes[:end].decode("latin-1"))
            self._length = length_of_body(
                self._head.headers.get("content-length", "0"), is_chunked="transfer-encoding" in self._head.headers
            )
            del self._bytes[: end + len(_HEAD_ENDS)]
        if len(self._bytes) < self._length:
            return None
        request = Request(self._head, bytes(self._bytes[: self._length]))
        del self._bytes[: self._length]
        self._head = None
        return request


MOST_BYTES = MAX_HEAD_BYTES + MAX_BODY_BYTES
"""Of one request."""


def _parsed(text: str) -> Head:
    """Raises RequestError ``local_api.malformed``."""
    first, *lines = text.split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.0", "HTTP/1.1"):
        raise _malformed(HTTPStatus.BAD_REQUEST, f"no request of HTTP/1.1 begins with {first[:60]!r}")
    method, path, version = words
    if method not in _METHODS:
        raise _malformed(HTTPStatus.METHOD_NOT_ALLOWED, f"{method[:20]} is not a method that is answered here")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip() or "\n" in line or "\r" in line or "\0" in line:
            raise _malformed(HTTPStatus.BAD_REQUEST, f"{line[:60]!r} is no header")
        key, value = name.lower(), value.strip()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    wish = headers.get("connection", "").lower()
    return Head(method, path, headers, "keep-alive" in wish if version == "HTTP/1.0" else "close" not in wish)


def _malformed(status: HTTPStatus, detail: str) -> RequestError:
    return RequestError(status, "local_api.malformed", detail)
