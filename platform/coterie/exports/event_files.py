"""What TensorBoard reads: records of TensorFlow (TFRecord) that are ``Event`` messages, in Protocol Buffers' encoding.

Written here, since the libraries that do it load PyTorch or TensorFlow where these are installed: 170 MB in each of
the platform's processes. Sources: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto and
tensorflow/core/framework/summary.proto.
"""

import struct
from collections.abc import Mapping
from functools import cache

FILE_VERSION = "brain.Event:2"
CASTAGNOLI = 0x82F63B78
"""The polynomial of CRC-32C (RFC 3720, appendix B.4), its bits reversed."""
FLOAT_MAX = (2 - 2**-23) * 2.0**127
VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5
"""Wire types of Protocol Buffers."""


def event_file(*, wall_time: float, step: int, values: Mapping[str, float]) -> bytes:
    """A file with one event: `values` at `step`, at `wall_time` in seconds of Unix time."""
    begins = _double(1, wall_time) + _bytes(3, FILE_VERSION.encode())
    summary = b"".join(_bytes(1, _bytes(1, tag.encode()) + _float(2, value)) for tag, value in values.items())
    return _record(begins) + _record(_double(1, wall_time) + _varint(2, step) + _bytes(5, summary))


def _record(data: bytes) -> bytes:
    size = struct.pack("<Q", len(data))
    return size + struct.pack("<I", _masked(size)) + data + struct.pack("<I", _masked(data))


def _masked(data: bytes) -> int:
    """The checksum of a record's part, so changed that a checksum of what holds checksums is none of their own."""
    crc = _crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _crc32c(data: bytes) -> int:
    crc, table = 0xFFFFFFFF, _table()
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@cache
def _table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (CASTAGNOLI if byte & 1 else 0)
        found.append(byte)
    return tuple(found)


def _double(field: int, value: float) -> bytes:
    return _key(field, EIGHT_BYTES) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    """Figures have single precision there; one beyond its range is the largest that it has."""
    return _key(field, FOUR_BYTES) + struct.pack("<f", max(-FLOAT_MAX, min(FLOAT_MAX, value)))


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, LENGTH) + _number(len(value)) + value


def _varint(field: int, value: int) -> bytes:
    return _key(field, VARINT) + _number(value)


def _key(field: int, wire_type: int) -> bytes:
    return _number(field << 3 | wire_type)


def _number(value: int) -> bytes:
    """In groups of seven bits, the lowest first, each but the last marked."""
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*groups, value))
