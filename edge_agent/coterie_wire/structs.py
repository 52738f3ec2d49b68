"""Structs out of JSON, MessagePack and plain values, in any thread.

msgspec learns what a struct looks like when it first reads one, and a second thread that reads the same struct, or one
that holds it, meanwhile finds it half known: the process ends with a segmentation fault (seen with msgspec 0.22). Here
each type is learned under one lock before it is read.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")
Readable = bytes | bytearray | memoryview | str | msgspec.Raw

# Any, as in msgspec itself: a union or another special form is no type[T].
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_lock = threading.Lock()


@overload
def decoder(kind: type[T]) -> msgspec.json.Decoder[T]: ...
@overload
def decoder(kind: Any) -> msgspec.json.Decoder[Any]: ...
def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """What reads values of type `kind` from JSON."""
    found = _decoders.get(kind)
    if found is None:
        with _lock:
            found = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return found


@overload
def from_json(data: Readable, kind: type[T]) -> T: ...
@overload
def from_json(data: Readable, kind: Any = Any) -> Any: ...
def from_json(data: Readable, kind: Any = Any) -> Any:
    """The value of type `kind` that `data` says.

    Raises msgspec.DecodeError, its subclass msgspec.ValidationError where the JSON is no `kind`, or UnicodeDecodeError.
    """
    return decoder(kind).decode(data)


@overload
def from_msgpack(data: bytes, kind: type[T]) -> T: ...
@overload
def from_msgpack(data: bytes, kind: Any) -> Any: ...
def from_msgpack(data: bytes, kind: Any) -> Any:
    """Raises msgspec.DecodeError."""
    decoder(kind)
    return msgspec.msgpack.decode(data, type=kind)


@overload
def from_values(
    value: object, kind: type[T], *, strict: bool = True, dec_hook: Callable[[type, Any], Any] | None = None
) -> T: ...
@overload
def from_values(
    value: object, kind: Any, *, strict: bool = True, dec_hook: Callable[[type, Any], Any] | None = None
) -> Any: ...
def from_values(
    value: object, kind: Any, *, strict: bool = True, dec_hook: Callable[[type, Any], Any] | None = None
) -> Any:
    """The value of type `kind` that dictionaries, lists and the like stand for, as `msgspec.convert` has it.

    Raises msgspec.ValidationError.
    """
    decoder(kind)
    return msgspec.convert(value, kind, strict=strict, dec_hook=dec_hook)
