"""Deflated codes: what they are, and what nobody can make of them."""

import tracemalloc
import zlib
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coterie_learning.code_streams import CHUNK, SIZES, chunks_of, deflated
from coterie_learning.codec.sparse_levels import SparseLevels
from coterie_learning.flat import layout_name
from coterie_learning.levels import Codes
from coterie_learning.packings import Packing, Pairs, SignsAndMagnitudes
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Array

CODEC = SparseLevels()
SPECS = (TensorSpec("w", "float32", (7,)),)
CODES = np.array([0, 1, -1, 0, 127, 0, -3], np.int8)
STREAMS = layout_name("codes", SPECS)


def deflate(content: bytes) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    return stream.compress(content) + stream.flush()


def payload(streams: tuple[bytes, bytes], *, sizes: tuple[int, int] | None = None) -> bytes:
    tensors: Mapping[str, Array] = {
        STREAMS: np.frombuffer(b"".join(streams), np.uint8),
        SIZES: np.array([sizes or [len(stream) for stream in streams]], np.int32),
        "scale": np.ones(1, np.float32),
    }
    return CODEC.pack(tensors)


SIGNS = bytes([81 * 1 + 27 * 2 + 9 * 0 + 3 * 1 + 2, 81 * 1 + 27 * 0 + 9 + 3 + 1])
MAGNITUDES = bytes([0, 0, 126, 2])


def test_five_signs_are_a_byte_and_magnitudes_follow() -> None:
    tensors = deflated({"w": CODES}, CODEC.packing)
    first, second = (int(size) for size in tensors[SIZES][0])
    stream = tensors[STREAMS].tobytes()
    assert zlib.decompress(stream[:first], -15) == SIGNS
    assert zlib.decompress(stream[first:], -15) == MAGNITUDES
    assert first + second == len(stream)
    found = CODEC.decode(payload((deflate(SIGNS), deflate(MAGNITUDES))), expected=SPECS)
    np.testing.assert_array_equal(found["w"], CODES)


BOMB = deflate(bytes(50_000_000))


@pytest.mark.parametrize(
    ("streams", "sizes"),
    [
        ((BOMB, deflate(MAGNITUDES)), None),
        ((deflate(SIGNS), BOMB), None),
        ((deflate(SIGNS[:1]), deflate(MAGNITUDES)), None),
        ((deflate(SIGNS), deflate(MAGNITUDES[1:])), None),
        ((deflate(SIGNS)[:-1], deflate(MAGNITUDES)), None),
        ((deflate(SIGNS) + b"\0", deflate(MAGNITUDES)), None),
        ((b"", b""), None),
        ((deflate(bytes([243, 121])), deflate(b"")), None),
        ((deflate(bytes([121, 0])), deflate(bytes(2))), None),
        ((deflate(SIGNS), deflate(bytes([0, 0, 127, 0]))), None),
        ((deflate(SIGNS), deflate(MAGNITUDES)), (-1, len(deflate(SIGNS)) + len(deflate(MAGNITUDES)) + 1)),
        ((deflate(SIGNS), deflate(MAGNITUDES)), (2**31 - 1, 1)),
    ],
    ids=[
        "a bomb of signs",
        "a bomb of magnitudes",
        "too few signs",
        "too few magnitudes",
        "a stream that breaks off",
        "bytes after a stream",
        "nothing",
        "a byte that stands for no signs",
        "signs after the last parameter",
        "a magnitude above 127",
        "a negative size",
        "sizes that exceed the payload",
    ],
)
def test_what_a_device_cannot_have_written_is_refused(
    streams: tuple[bytes, bytes], sizes: tuple[int, int] | None
) -> None:
    with pytest.raises(WireError) as caught:
        CODEC.decode(payload(streams, sizes=sizes), expected=SPECS)
    assert caught.value.code == "update.malformed"


def test_a_bomb_is_not_inflated() -> None:
    """Beside the payload, no more memory is taken than the codes of a chunk need."""
    hostile = payload((BOMB, deflate(MAGNITUDES)))
    tracemalloc.start()
    with pytest.raises(WireError):
        CODEC.decode(hostile, expected=SPECS)
    assert tracemalloc.get_traced_memory()[1] < 4 * len(hostile) + (1 << 16)
    tracemalloc.stop()


def test_spans_are_read_across_chunks() -> None:
    source = np.random.default_rng(3)
    update = {
        "a": source.standard_normal((3, CHUNK // 2 + 1)).astype(np.float32),
        "b": source.standard_normal(CHUNK).astype(np.float32),
    }
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in update.items())
    codec = SparseLevels(step=1, feedback=False)
    encoded = codec.encode(update, seed=0)
    found = codec.open(InMemory(encoded.payload), expected=specs)
    decoded = {name: tensor - encoded.residual[name] for name, tensor in update.items()}
    for name, start, stop in (("b", CHUNK // 2 - 9, CHUNK // 2 + 9), ("a", CHUNK - 5, CHUNK + 5), ("b", 0, CHUNK)):
        np.testing.assert_allclose(
            found.numbers(name, start, stop), decoded[name].reshape(-1)[start:stop], rtol=0, atol=1e-5
        )
    assert len(encoded.payload) < codec.payload_bytes(specs).most


@pytest.mark.parametrize(("packing", "largest"), [(SignsAndMagnitudes(), 127), (Pairs(), 7)])
def test_noise_takes_no_more_than_the_most(packing: Packing, largest: int) -> None:
    codes = np.random.default_rng(4).integers(-largest, largest + 1, 3 * CHUNK + 11).astype(np.int8)
    streams = deflated({"w": codes}, packing)[layout_name("codes", (TensorSpec("w", "float32", codes.shape),))]
    most = packing.most_bytes(codes.size, codes.size, chunks_of(codes.size))
    assert most * 0.8 < streams.size <= most


@pytest.mark.parametrize("packing", [SignsAndMagnitudes(), Pairs()])
@given(codes=hnp.arrays(np.int8, st.integers(0, 60), elements=st.integers(-7, 7)))
def test_what_is_packed_comes_back(packing: Packing, codes: Codes) -> None:
    np.testing.assert_array_equal(packing.unpack(packing.pack(codes), codes.size), codes)


@pytest.mark.parametrize("stream", [BOMB, deflate(b"\x21"), deflate(b"\x21\x43\x05"), deflate(b"\x21\x43"), b""])
def test_pairs_that_a_device_cannot_have_written_are_refused(stream: bytes) -> None:
    """Too many, too few, one byte more, a code after the last, nothing."""
    with pytest.raises(WireError) as caught:
        Pairs().unpack([stream], 3)
    assert caught.value.code == "update.malformed"
