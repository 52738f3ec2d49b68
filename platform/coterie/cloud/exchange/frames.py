"""Frames between a job's first process and its workers: a length of eight bytes, little-endian, and a tensor file."""

from asyncio import StreamReader
from collections.abc import Mapping
from typing import NamedTuple

from coterie_wire.errors import WireError
from coterie_wire.tensors import MAX_HEADER_BYTES, Array, encode_tensors, read_header, view_tensors

LENGTH_BYTES = 8


class Frame(NamedTuple):
    """One message."""

    words: Mapping[str, str]
    tensors: Mapping[str, Array]


def pack(words: Mapping[str, str], tensors: Mapping[str, Array]) -> bytes:
    """A frame as bytes."""
    body = encode_tensors(tensors, words)
    return len(body).to_bytes(LENGTH_BYTES, "little") + body


def largest(numbers: int) -> int:
    """An upper bound on the bytes of a frame with so many numbers."""
    return MAX_HEADER_BYTES + 8 * numbers


async def read_frame(reader: StreamReader, *, most_bytes: int) -> Frame:
    """The next frame. Raises WireError, before anything is allocated, or IncompleteReadError where the other side
    has closed.
    """
    size = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "little")
    if size > most_bytes:
        raise WireError("tensors.malformed", f"a frame of {size} bytes; at most {most_bytes} are read")
    body = await reader.readexactly(size)
    header = read_header(body)
    return Frame(header.metadata, view_tensors(body, header, expected=tuple(header.specs.values())))
