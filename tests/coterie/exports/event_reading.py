"""Reads event files with the messages and checksums of another library."""

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorboardX.proto.event_pb2 import Event


def masked(data: bytes) -> int:
    from tensorboardX.crc32c import crc32c  # only where events are read: it loads PyTorch, which takes seconds

    crc = int(crc32c(data))
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def events_in(content: bytes) -> "list[Event]":
    """As TFRecord has them, with their checksums."""
    from tensorboardX.proto.event_pb2 import Event  # as above

    found = []
    while content:
        (size,) = struct.unpack("<Q", content[:8])
        data = content[12 : 12 + size]
        assert struct.unpack("<I", content[8:12]) == (masked(content[:8]),)
        assert struct.unpack("<I", content[12 + size : 16 + size]) == (masked(data),)
        found.append(Event.FromString(data))
        content = content[16 + size :]
    return found
