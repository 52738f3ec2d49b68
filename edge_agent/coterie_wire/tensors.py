"""Tensors as bytes in the safetensors format: names, dtypes, shapes and numbers, no code.

Format: https://github.com/huggingface/safetensors#format. We write it ourselves, because the library orders metadata by
a random hash, and read it ourselves, because everything must be checked before anything is allocated.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie_wire.bundle import Dtype, Shape, TensorSpec
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json

Array: TypeAlias = (
    NDArray[np.float32]
    | NDArray[np.int64]
    | NDArray[np.int32]
    | NDArray[np.int8]
    | NDArray[np.uint8]
    | NDArray[np.bool_]
)

Float32: TypeAlias = NDArray[np.float32]
Tensors: TypeAlias = Mapping[str, Float32]
"""Parameters, running statistics or an update, by the names that the model gives them."""

METADATA = "__metadata__"
"""What no tensor can be called."""
MAX_HEADER_BYTES = 1 << 20
ALIGNMENT_BYTES = 8

_StoredDtype = Literal["I64", "I32", "F32", "I8", "U8", "BOOL"]
_READ: Mapping[_StoredDtype, Dtype] = {
    "I64": "int64",
    "F32": "float32",
    "I32": "int32",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}
_PLACES: Mapping[str, int] = {dtype: place for place, dtype in enumerate(_READ.values())}
"""The library's order of dtypes in a file: the widest first."""
_STORED: Mapping[str, _StoredDtype] = {dtype: stored for stored, dtype in _READ.items()}
NUMPY_DTYPES: Mapping[str, str] = {
    "int64": "<i8",
    "int32": "<i4",
    "float32": "<f4",
    "int8": "|i1",
    "uint8": "|u1",
    "bool": "|b1",
}
_ITEM_BYTES: Mapping[_StoredDtype, int] = {"I64": 8, "I32": 4, "F32": 4, "I8": 1, "U8": 1, "BOOL": 1}
_Offset = Annotated[int, Meta(ge=0, le=2**53)]


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dtype: _StoredDtype
    shape: Shape
    data_offsets: tuple[_Offset, _Offset]


class Header(msgspec.Struct, frozen=True):
    """What a tensor file says it holds, checked: the tensors lie within the file, do not overlap, and fill it."""

    metadata: Mapping[str, str]
    specs: Mapping[str, TensorSpec]
    offsets: Mapping[str, int]
    """Where each tensor starts, in bytes from the beginning of the file."""


def encode_tensors(tensors: Mapping[str, Array], metadata: Mapping[str, str] = {}) -> bytes:
    """`tensors` and `metadata` as safetensors; equal content gives equal bytes, whatever the order of the mappings."""
    specs = tuple(TensorSpec(name, _READ[_STORED[tensor.dtype.name]], tensor.shape) for name, tensor in tensors.items())
    entries = _entries(specs)
    return b"".join((_packed(_header_of(entries, metadata)), *(_little_endian(tensors[name]) for name in entries)))


def encoded_bytes(specs: Sequence[TensorSpec]) -> int:
    """The size of the file that `encode_tensors` makes of such tensors, without metadata."""
    return planned_file(specs).size_bytes


class PlannedFile(NamedTuple):
    """A tensor file before its tensors are there."""

    head: bytes
    """What comes before the first tensor."""
    offsets: Mapping[str, int]
    """Where each tensor starts, in bytes from the beginning of the file."""
    size_bytes: int


def planned_file(specs: Sequence[TensorSpec], metadata: Mapping[str, str] = {}) -> PlannedFile:
    """Where `encode_tensors` puts tensors of these `specs`, for those who write them a part at a time."""
    entries = _entries(specs)
    head = _packed(_header_of(entries, metadata))
    end = max((entry.data_offsets[1] for entry in entries.values()), default=0)
    offsets = {name: len(head) + entry.data_offsets[0] for name, entry in entries.items()}
    return PlannedFile(head, offsets, len(head) + end)


def decode_tensors(data: bytes | memoryview, *, expected: tuple[TensorSpec, ...]) -> Mapping[str, Array]:
    """Read-only views into `data`, in the order of `expected`, which must be exactly the tensors it holds.

    Raises WireError ``tensors.malformed`` or ``tensors.wrong_shape``. Copies nothing.
    """
    return view_tensors(data, read_header(data), expected=expected)


def head_bytes(start: bytes | memoryview, *, size_bytes: int) -> int:
    """How much of a tensor file of `size_bytes` comes before the first tensor, by the file's first 8 bytes.

    Raises WireError ``tensors.malformed``.
    """
    found = 8 + int.from_bytes(start[:8], "little")
    if not 8 < found <= min(size_bytes, 8 + MAX_HEADER_BYTES):
        most = MAX_HEADER_BYTES
        raise _malformed(f"a header of {found - 8} bytes in a file of {size_bytes}; at most {most} are read")
    return found


def read_header(data: bytes | memoryview, *, size_bytes: int | None = None) -> Header:
    """The checked header of a tensor file, of which `data` is all, or the head of `size_bytes`.

    Its size bounds what is allocated. Raises WireError ``tensors.malformed``.
    """
    whole_bytes = len(data) if size_bytes is None else size_bytes
    body = head_bytes(data, size_bytes=whole_bytes)
    try:
        fields = from_json(data[8:body], dict[str, msgspec.Raw])
        metadata = from_json(fields.pop(METADATA, b"{}"), dict[str, str])
        entries = {name: from_json(field, _Entry) for name, field in fields.items()}
    except UNREADABLE as error:
        raise _malformed(f"header: {error}") from error
    if _packed({METADATA: metadata, **entries} if metadata else entries) != data[:body]:
        raise _malformed("the header is not in canonical form: a name may be repeated, or blanks may have been added")
    _check_layout(entries, size_bytes=whole_bytes - body)
    return Header(
        metadata=metadata,
        specs={name: TensorSpec(name, _READ[entry.dtype], entry.shape) for name, entry in entries.items()},
        offsets={name: body + entry.data_offsets[0] for name, entry in entries.items()},
    )


def file_bytes(data: bytes | memoryview, *, size_bytes: int | None = None) -> int:
    """The size of the tensor file that `data` begins with, by its header; `read_header` checks the rest.

    Where `data` is but the head, `size_bytes` are all that there are.

    Raises WireError ``tensors.malformed``.
    """
    there = len(data) if size_bytes is None else size_bytes
    body = head_bytes(data, size_bytes=there)
    try:
        fields = from_json(data[8:body], dict[str, msgspec.Raw])
        ends = [from_json(field, _Entry).data_offsets[1] for name, field in fields.items() if name != METADATA]
    except UNREADABLE as error:
        raise _malformed(f"header: {error}") from error
    end = body + max(ends, default=0)
    if end > there:
        raise _malformed(f"the tensors end at byte {end} of {there}")
    return end


def view_tensors(data: bytes | memoryview, header: Header, *, expected: tuple[TensorSpec, ...]) -> Mapping[str, Array]:
    """Read-only views into `data`, whose `header` was read before, as `decode_tensors` gives them.

    Raises WireError ``tensors.wrong_shape`` or ``tensors.malformed``.
    """
    check_specs(header, expected)
    raw = memoryview(data).toreadonly()
    for spec in expected:
        if spec.dtype == "bool":
            start = header.offsets[spec.name]
            if max(raw[start : start + math.prod(spec.shape)], default=0) > 1:
                raise _malformed(f"tensor {spec.name} holds a truth value that is neither 0 nor 1")
    return {
        spec.name: np.frombuffer(
            raw, NUMPY_DTYPES[spec.dtype], count=math.prod(spec.shape), offset=header.offsets[spec.name]
        ).reshape(spec.shape)
        for spec in expected
    }


def check_specs(header: Header, expected: tuple[TensorSpec, ...]) -> None:
    """The file holds the tensors of `expected` and no others. Raises WireError ``tensors.wrong_shape``."""
    if header.specs == {spec.name: spec for spec in expected}:
        return
    for spec in expected:
        found = header.specs.get(spec.name)
        if found != spec:
            here = f"{found.dtype} {list(found.shape)}" if found else "missing"
            raise _wrong_shape(f"tensor {spec.name} is {here}, expected {spec.dtype} {list(spec.shape)}")
    if len(header.specs) != len(expected):
        unknown = sorted(header.specs.keys() - {spec.name for spec in expected})
        raise _wrong_shape(f"{len(unknown)} tensors that are not expected, the first is {unknown[0]!r}")


def check_finite(tensors: Mapping[str, Array]) -> None:
    """Raises WireError ``tensors.not_finite`` if a float32 tensor holds NaN or infinity. Allocates nothing."""
    for name, tensor in tensors.items():
        # NaN passes through both extremes, and an infinity is one of them.
        if tensor.size and not (np.isfinite(tensor.max()) and np.isfinite(tensor.min())):
            raise WireError("tensors.not_finite", f"tensor {name} holds a number that is not finite")


def _entries(specs: Sequence[TensorSpec]) -> Mapping[str, _Entry]:
    """Where each tensor lies, in the order in which the library lays them out."""
    order = sorted(specs, key=lambda spec: (_PLACES[spec.dtype], spec.name))
    entries: dict[str, _Entry] = {}
    end = 0
    for spec in order:
        stored = _STORED[spec.dtype]
        start, end = end, end + math.prod(spec.shape) * _ITEM_BYTES[stored]
        entries[spec.name] = _Entry(stored, spec.shape, (start, end))
    return entries


def _header_of(entries: Mapping[str, _Entry], metadata: Mapping[str, str]) -> Mapping[str, _Entry | Mapping[str, str]]:
    return {METADATA: dict(sorted(metadata.items())), **entries} if metadata else entries


def _packed(header: Mapping[str, _Entry | Mapping[str, str]]) -> bytes:
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % ALIGNMENT_BYTES)
    return len(text).to_bytes(8, "little") + text


def _check_layout(entries: Mapping[str, _Entry], *, size_bytes: int) -> None:
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
        item_bytes = _ITEM_BYTES[entry.dtype]
        if entry.data_offsets != (end, end + math.prod(entry.shape) * item_bytes):
            raise _malformed(f"tensor {name} of shape {list(entry.shape)} cannot lie at bytes {entry.data_offsets}")
        if end % item_bytes:
            raise _malformed(f"tensor {name} starts at byte {end}, which is not a multiple of {item_bytes}")
        end = entry.data_offsets[1]
    if end != size_bytes:
        raise _malformed(f"the tensors end at byte {end} of {size_bytes}")


def _little_endian(tensor: Array) -> memoryview:
    return np.ascontiguousarray(tensor, NUMPY_DTYPES[tensor.dtype.name]).reshape(-1).view(np.uint8).data


def _malformed(detail: str) -> WireError:
    return WireError("tensors.malformed", detail)


def _wrong_shape(detail: str) -> WireError:
    return WireError("tensors.wrong_shape", detail)
