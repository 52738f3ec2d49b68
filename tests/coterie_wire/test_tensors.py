"""Tensor files: what is written is read, byte for byte like the safetensors library, and nothing else is."""

import struct
from collections.abc import Mapping

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load, save

from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import (
    MAX_HEADER_BYTES,
    Array,
    check_finite,
    decode_tensors,
    encode_tensors,
    read_header,
)

shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
DTYPES = (np.float32, np.int64, np.int32, np.int8, np.uint8, np.bool_)
arrays = st.one_of(*(hnp.arrays(dtype, shapes) for dtype in DTYPES))
names = st.text(min_size=1, max_size=8).filter(lambda name: name != "__metadata__")
named_arrays = st.dictionaries(names, arrays, max_size=4)


def specs_of(tensors: Mapping[str, Array]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(name, tensor.dtype.name, tensor.shape) for name, tensor in tensors.items())


def file_of(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else msgspec.json.encode(header)
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def floats(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


PAIR = {"a": floats(1, 2), "b": floats(3)}
PAIR_SPECS = specs_of(PAIR)


@given(tensors=named_arrays, metadata=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
@settings(max_examples=100)
def test_what_is_written_is_read(tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    data = encode_tensors(tensors, metadata)
    decoded = decode_tensors(data, expected=specs_of(tensors))
    assert list(decoded) == list(tensors)
    for name, tensor in tensors.items():
        assert decoded[name].dtype == tensor.dtype
        np.testing.assert_array_equal(decoded[name], tensor)
    assert read_header(data).metadata == metadata


@given(tensors=named_arrays)
@settings(max_examples=50)
def test_bytes_are_those_of_the_safetensors_library(tensors: Mapping[str, Array]) -> None:
    data = encode_tensors(tensors)
    assert data == save(dict(tensors))
    for name, tensor in load(encode_tensors(tensors, {"key": "value"})).items():
        np.testing.assert_array_equal(tensor, tensors[name])


def test_order_of_the_mappings_does_not_matter() -> None:
    assert encode_tensors({"a": PAIR["a"], "b": PAIR["b"]}, {"x": "1", "y": "2"}) == encode_tensors(
        {"b": PAIR["b"], "a": PAIR["a"]}, {"y": "2", "x": "1"}
    )


def test_strided_tensors_are_written_in_order_of_their_elements() -> None:
    grid = np.arange(6, dtype=np.float32).reshape(2, 3)
    decoded = decode_tensors(encode_tensors({"t": grid.T}), expected=(TensorSpec("t", "float32", (3, 2)),))
    np.testing.assert_array_equal(decoded["t"], grid.T)


def test_decoding_copies_nothing_and_gives_nothing_to_write_to() -> None:
    data = bytearray(encode_tensors(PAIR))
    decoded = decode_tensors(memoryview(data), expected=PAIR_SPECS)
    data[-4:] = floats(7).tobytes()
    assert decoded["b"][0] == 7
    assert not decoded["b"].flags.writeable


def entry(shape: list[int], start: int, end: int, dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "cut in the header's length": b"\x08\x00",
    "cut in the header": file_of({"a": entry([1], 0, 4)})[:20],
    "empty header": struct.pack("<Q", 0),
    "header longer than the file": struct.pack("<Q", 1 << 40) + b"{}",
    "header longer than is read": struct.pack("<Q", MAX_HEADER_BYTES + 8) + b"{" + b" " * (MAX_HEADER_BYTES + 7),
    "not JSON": file_of(b"header"),
    "not UTF-8": file_of(b'{"\xff":1}'),
    "a list": file_of([]),
    "deeply nested": file_of(b'{"a":' * 50_000),
    "unknown dtype": file_of({"a": entry([1], 0, 8, "F64")}, bytes(8)),
    "unknown field": file_of({"a": entry([1], 0, 4) | {"more": 1}}, bytes(4)),
    "missing field": file_of({"a": {"dtype": "F32", "shape": [1]}}, bytes(4)),
    "negative size": file_of({"a": entry([-1], 0, 4)}, bytes(4)),
    "hundreds of axes": file_of({"a": entry([2**31] * 500, 0, 4)}, bytes(4)),
    "negative offset": file_of({"a": entry([1], -4, 0)}, bytes(4)),
    "offsets backwards": file_of({"a": entry([1], 4, 0)}, bytes(4)),
    "size that overflows 64 bits": file_of({"a": entry([2**31, 2**31, 2**31], 0, 4)}, bytes(4)),
    "shape larger than its bytes": file_of({"a": entry([2], 0, 4)}, bytes(4)),
    "gap": file_of({"a": entry([1], 4, 8)}, bytes(8)),
    "overlap": file_of({"a": entry([1], 0, 4), "b": entry([1], 0, 4)}, bytes(4)),
    "past the end": file_of({"a": entry([2], 0, 8)}, bytes(4)),
    "bytes left over": file_of({"a": entry([1], 0, 4)}, bytes(8)),
    "unaligned": file_of({"a": entry([1], 0, 1, "I8"), "b": entry([1], 1, 5)}, bytes(5)),
    "repeated name": file_of(
        b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,36]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
        bytes(4),
    ),
    "blanks": file_of(b'{"a": {"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(4)),
    "metadata that is not text": file_of({"__metadata__": {"a": 1}}),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_file_is_refused(data: bytes) -> None:
    with pytest.raises(WireError) as caught:
        read_header(data)
    assert caught.value.code == "tensors.malformed"


@pytest.mark.parametrize(
    "expected",
    [
        (),
        PAIR_SPECS[:1],
        (*PAIR_SPECS, TensorSpec("c", "float32", (1,))),
        (PAIR_SPECS[0], TensorSpec("c", "float32", (1,))),
        (PAIR_SPECS[0], TensorSpec("b", "float32", (1, 1))),
        (PAIR_SPECS[0], TensorSpec("b", "int64", (1,))),
    ],
    ids=["nothing", "fewer", "more", "another name", "another shape", "another dtype"],
)
def test_other_tensors_than_expected_are_refused(expected: tuple[TensorSpec, ...]) -> None:
    with pytest.raises(WireError) as caught:
        decode_tensors(encode_tensors(PAIR), expected=expected)
    assert caught.value.code == "tensors.wrong_shape"


@given(st.data())
@settings(max_examples=200)
def test_a_damaged_file_is_refused_or_read_as_the_same_tensors(data: st.DataObject) -> None:
    content = bytearray(encode_tensors(PAIR, {"codec": "float32"}))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    try:
        decoded = decode_tensors(bytes(content[cut:]), expected=PAIR_SPECS)
    except WireError as error:
        assert error.code in {"tensors.malformed", "tensors.wrong_shape"}
    else:
        assert {name: tensor.shape for name, tensor in decoded.items()} == {"a": (2,), "b": (1,)}


@given(st.binary(max_size=200))
@settings(max_examples=100)
def test_arbitrary_bytes_raise_only_wire_errors(data: bytes) -> None:
    for content in (data, file_of(data)):
        with pytest.raises(WireError):
            decode_tensors(content, expected=PAIR_SPECS)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_found(number: float) -> None:
    with pytest.raises(WireError) as caught:
        check_finite({"fine": floats(0), "broken": floats(1, number, 2)})
    assert caught.value.code == "tensors.not_finite"
    assert "broken" in caught.value.detail


def test_extreme_integers_and_empty_tensors_are_finite() -> None:
    check_finite({"empty": floats(), "large": np.array([2**63 - 1]), "float": floats(3.4e38, -3.4e38)})


def test_a_truth_value_that_is_none_is_refused() -> None:
    content = encode_tensors({"flag": np.array([True, False])})
    with pytest.raises(WireError) as caught:
        decode_tensors(content[:-1] + b"\x02", expected=(TensorSpec("flag", "bool", (2,)),))
    assert caught.value.code == "tensors.malformed"
