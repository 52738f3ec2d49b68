"""Objects of a store that speaks S3, by obstore (https://developmentseed.org/obstore)."""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from html import unescape
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

import obstore
from django.core.files.base import File
from django.utils.functional import cached_property
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store

from coterie.storage.interface import StorageUnavailable, Store

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from obstore.store import ClientConfig, RetryConfig, S3Config

BLOCK_BYTES = 1 << 20
"""Read at once; also what an open object takes of memory."""
PIECE_BYTES = 8 << 20
"""Larger objects are sent in pieces of this size; S3 accepts 10,000 of them for one object."""
DELETED_AT_ONCE = 1000
TRIES = 4
CONNECT_S = 5
ANSWER_S = 30
"""The time limit of one request, which transfers at most one piece."""
RETRIED_S = 60
"""The time after which no further attempt begins."""
NO_BUCKET = "<Code>NoSuchBucket</Code>"
ANSWERED = re.compile(r"<Code>([^<]+)</Code>\s*<Message>([^<]+)</Message>")
"""What the store says of a request that it refuses."""
INNERMOST = re.compile(r'(?:message|error): (?:"([^"]+)"|(\w+\(\s*\w+))')
"""What obstore prints below its sentence where no answer came; the last is the cause."""
SILENT, HUNG_UP = "kind: Timeout", "IncompleteMessage"
ASKED = re.compile(r"performing ([A-Z]+ \S+)")


class StoreLocation(NamedTuple):
    """A store's address and credentials. Blank credentials: obstore searches where AWS clients do."""

    bucket: str
    prefix: str
    endpoint: str
    """Blank: that of AWS."""
    public_endpoint: str
    """The address under which devices reach the store; blank: the same."""
    region: str
    key_id: str
    secret: str


class ObjectStorage(Store):
    """The objects whose key begins with the prefix of `place` and `folder`."""

    def __init__(self, *, folder: str, **place: str) -> None:
        """`place` are the fields of `StoreLocation`."""
        self._place = StoreLocation(**place)
        self._folder = folder

    def __str__(self) -> str:
        return f"the bucket {self._place.bucket}"

    def create(self, name: str, content: bytes) -> bool:
        """See `Store`: ``If-None-Match: *``."""
        with _spoken_to():
            try:
                obstore.put(self._store, name, content, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def exists(self, name: str) -> bool:
        """Whether the name has bytes."""
        try:
            self.size(name)
        except FileNotFoundError:
            return False
        return True

    def size(self, name: str) -> int:
        """In bytes. Raises FileNotFoundError."""
        with _spoken_to():
            try:
                return obstore.head(self._store, name)["size"]
            except FileNotFoundError:
                obstore.list_with_delimiter(self._store, name)  # HEAD does not tell whether there is a bucket
                raise

    def delete(self, name: str) -> None:
        """Remove the name's bytes, if it has any."""
        with suppress(FileNotFoundError), _spoken_to():
            obstore.delete(self._store, name)

    def sizes(self, folder: str) -> Mapping[str, int]:
        """See `Store`."""
        with _spoken_to():
            found = obstore.list_with_delimiter(self._store, folder or None)["objects"]
        return {entry["path"].rpartition("/")[2]: entry["size"] for entry in found}

    def folders(self, folder: str = "") -> set[str]:
        """See `Store`."""
        with _spoken_to():
            found = obstore.list_with_delimiter(self._store, folder or None)["common_prefixes"]
        return {prefix.rstrip("/").rpartition("/")[2] for prefix in found}

    def clear(self, folder: str) -> None:
        """See `Store`."""
        with _spoken_to():
            for page in obstore.list(self._store, folder, chunk_size=DELETED_AT_ONCE):
                # Not in one request for all: not every store that speaks S3 knows it.
                for entry in page:
                    self.delete(entry["path"])

    def place(self, name: str) -> str:
        """See `Store`: as the files of a state directory lie, so that a backup of one can become the other."""
        return f"{self._folder}/{name}"

    def signed_url(self, name: str, lasts: timedelta) -> str | None:
        """See `Store`."""
        with _spoken_to():
            return obstore.sign(self._public_store, "GET", name, lasts)

    def remove_drafts(self) -> int:
        """See `Store`: an object is whole or absent. Broken multipart uploads end by a rule of the bucket."""
        return 0

    def _open(self, name: str, mode: str = "rb") -> "File[bytes]":
        assert mode == "rb", "objects are read, or written whole"
        size_bytes = self.size(name)
        reader = io.BufferedReader(_ObjectReader(self._store, name, size_bytes), BLOCK_BYTES)
        return File(cast(BinaryIO, reader), name)

    def _save(self, name: str, content: "File[bytes]") -> str:
        content.seek(0)
        with _spoken_to():
            if content.size <= PIECE_BYTES:
                obstore.put(self._store, name, content.read(), use_multipart=False)
            else:
                obstore.put(self._store, name, content.chunks(BLOCK_BYTES), chunk_size=PIECE_BYTES, max_concurrency=2)
        return name

    @cached_property
    def _store(self) -> S3Store:
        return self._at(self._place.endpoint)

    @cached_property
    def _public_store(self) -> S3Store:
        return self._at(self._place.public_endpoint or self._place.endpoint)

    def _at(self, endpoint: str) -> S3Store:
        place = self._place
        config: S3Config = {"region": place.region, "checksum_algorithm": "SHA256"}  # the store refuses changed bytes
        if endpoint:
            config["endpoint"] = endpoint
        if place.key_id:
            config |= {"access_key_id": place.key_id, "secret_access_key": place.secret}
        client: ClientConfig = {
            "connect_timeout": timedelta(seconds=CONNECT_S),
            "timeout": timedelta(seconds=ANSWER_S),
            "allow_http": endpoint.startswith("http:"),
        }
        retry: RetryConfig = {"max_retries": TRIES - 1, "retry_timeout": timedelta(seconds=RETRIED_S)}
        return S3Store(
            place.bucket,
            prefix="/".join(filter(None, (place.prefix, self._folder))),
            config=config,
            client_options=client,
            retry_config=retry,
        )


class _ObjectReader(io.RawIOBase):
    """An object's bytes, by ranges; what is read at once is one request."""

    def __init__(self, store: S3Store, name: str, size_bytes: int) -> None:
        self._store = store
        self._name = name
        self._size_bytes = size_bytes
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size_bytes}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer).cast("B")
        content = self._range(min(len(view), max(0, self._size_bytes - self._at)))
        view[: len(content)] = content
        return len(content)

    def readall(self) -> bytes:
        return bytes(self._range(max(0, self._size_bytes - self._at)))

    def _range(self, length: int) -> memoryview:
        if not length:
            return memoryview(b"")
        with _spoken_to():
            content = memoryview(obstore.get_range(self._store, self._name, start=self._at, length=length))
        if len(content) != length:
            raise StorageUnavailable(problem=f"{len(content)} bytes came of {length} that were asked for")
        self._at += length
        return content


@contextmanager
def _spoken_to() -> Iterator[None]:
    """Translate errors of the store into those of the interface."""
    try:
        yield
    except FileNotFoundError as error:
        if NO_BUCKET in str(error):
            raise StorageUnavailable(problem=_sentence(error)) from error
        raise FileNotFoundError(_first_line(error)) from error
    except (BaseError, TimeoutError, ConnectionError) as error:
        raise StorageUnavailable(problem=_sentence(error)) from error


def _sentence(error: Exception) -> str:
    """The cause and the request, of the pages that obstore prints."""
    text = str(error)
    if answer := ANSWERED.search(text):
        cause = f"{unescape(answer[2]).rstrip('.')} ({answer[1]})"
    elif SILENT in text:
        cause = f"no answer within {ANSWER_S} s"
    elif HUNG_UP in text:
        cause = "the connection ended without an answer"
    elif innermost := INNERMOST.findall(text):
        said, named = innermost[-1]
        cause = said or "".join(named.split()) + ")"
    else:
        return _first_line(error)
    request = ASKED.search(text)
    return f"{cause}, to {request[1]}"[:300] if request else cause[:300]


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300] or type(error).__name__
