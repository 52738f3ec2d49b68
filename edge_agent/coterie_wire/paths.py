"""Direct paths: what two devices tell each other so as to meet in spite of the address translators before them.

Each lists where it may be reached (candidates of ICE, RFC 8445) in a signal, which is sealed for the other one
(`coterie_wire.relaying.seal`). The platform passes signals on, to devices that have to do with one another. Over the
path one device asks and the other answers, with the bodies that they would send to each other's doors.
"""

import struct
from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.message import Identifier, Message
from coterie_wire.relaying import DirectPeer

SIGNAL_S = 60.0
"""So long a signal is passed on: whoever sent it has given up by then."""
MAX_SIGNALS = 32
"""Of one device, and for one: a meeting has it open a path to each of its group, and answer as many."""
MAX_CANDIDATES = 24
MAX_SIGNAL_BYTES = 8 << 10
PathName = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
"""Drawn by the device that calls."""
_LENGTH = struct.Struct("!I")
FRAME_HEAD_BYTES = _LENGTH.size


class SendSignal(Message, frozen=True):
    """Pass this on to a device that this one has to do with now."""

    path: PathName
    to: Identifier
    sealed: Annotated[bytes, Meta(max_length=MAX_SIGNAL_BYTES)]
    """A `Candidates`, sealed."""


class Signal(Message, frozen=True):
    """What another device has sent this one."""

    path: PathName
    way: DirectPeer
    """To the device that sent it."""
    sealed: Annotated[bytes, Meta(max_length=MAX_SIGNAL_BYTES)]


class Candidates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a device may be reached, by the attributes that ICE has of it in SDP (RFC 8839)."""

    path: PathName
    sender: Identifier
    username: Annotated[str, Meta(min_length=4, max_length=256)]
    password: Annotated[str, Meta(min_length=22, max_length=256)]
    candidates: Annotated[tuple[Annotated[str, Meta(max_length=250)], ...], Meta(max_length=MAX_CANDIDATES)]


class PathRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Over a path, before the body: which path of the device is to answer."""

    desk: Annotated[str, Meta(pattern="^/[a-z]{1,40}$")]


class Answered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Over a path, before the body of the answer."""

    refusal: Reason | None = None
    """Why there is none."""


def framed(content: bytes) -> bytes:
    """`content` on a stream, with its length before it."""
    return _LENGTH.pack(len(content)) + content


class Frames:
    """Takes a stream apart again; one of more than `most_bytes` is refused before it has come."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes, self._content = most_bytes, bytearray()

    def take(self, content: bytes) -> list[bytes]:
        """What is whole by now. Raises WireError ``paths.too_large``."""
        self._content += content
        found = []
        while len(self._content) >= _LENGTH.size:
            (size_bytes,) = _LENGTH.unpack_from(self._content)
            if size_bytes > self._most_bytes:
                raise WireError("paths.too_large", f"a body of {size_bytes} bytes; at most {self._most_bytes} are read")
            if len(self._content) < _LENGTH.size + size_bytes:
                break
            found.append(bytes(self._content[_LENGTH.size : _LENGTH.size + size_bytes]))
            del self._content[: _LENGTH.size + size_bytes]
        return found


def split_sealed(body: bytes) -> tuple[bytes, bytes]:
    """A body as a door takes it: the line that says who calls, and what is sealed."""
    line, end, sealed = body.partition(b"\n")
    return line + end, sealed
