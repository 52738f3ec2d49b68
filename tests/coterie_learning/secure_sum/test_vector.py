"""Vectors travel packed and are read span by span."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.secure_sum.masks import DRAWN
from coterie_learning.secure_sum.vector import (
    Layout,
    Vector,
    added,
    encode_vector,
    masked,
    open_vector,
    pack,
    packed_bytes,
    unpack,
    word,
)
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory

DIGEST = bytes(range(32))
BITS = (8, 12, 16, 20, 24, 28, 32)
every_bits = pytest.mark.parametrize("bits", BITS)


def some(bits: int, length: int = 6, tail: int = 2, seed: int = 0) -> Vector:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 1 << bits, length).astype(word(bits))
    return Vector(bits, numbers, rng.integers(0, 1 << 64, tail, dtype=np.uint64))


@every_bits
@given(data=st.data())
@settings(max_examples=30)
def test_what_is_packed_is_unpacked(bits: int, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, (1 << bits) - 1)] * 2), max_size=20))
    numbers = np.array([number for pair in pairs for number in pair], word(bits))
    packed = pack(numbers, bits)
    assert len(packed) == packed_bytes(len(numbers), bits)
    np.testing.assert_array_equal(unpack(packed, bits), numbers)
    whole = sum(int(number) << bits * index for index, number in enumerate(numbers))
    assert packed.tobytes() == whole.to_bytes(len(packed), "little")


def test_what_is_above_the_bits_is_left_out() -> None:
    assert pack(np.array([0xFABC, 0xF123], np.uint16), 12).tobytes().hex() == "bc3a12"


@every_bits
def test_a_file_is_read_span_by_span(bits: int) -> None:
    vector, layout = some(bits, length=2 * DRAWN + 64), Layout(2 * DRAWN + 64, bits, 2)
    found = open_vector(InMemory(encode_vector(vector, DIGEST)), layout, DIGEST)
    np.testing.assert_array_equal(found.tail(), vector.tail)
    for start, stop in [(0, 2), (10, DRAWN), (DRAWN, 2 * DRAWN), (2 * DRAWN, 2 * DRAWN + 64)]:
        np.testing.assert_array_equal(found.numbers(start, stop), vector.numbers[start:stop])


@every_bits
def test_masks_cancel_in_the_sum(bits: int) -> None:
    one, other = some(bits, seed=1), some(bits, seed=2)
    own, pair = bytes(32), bytes([1] * 32)
    under = [masked(one, own=own, added=[pair], subtracted=[]), masked(other, own=own, added=[], subtracted=[pair])]
    bare = masked(added(under), own=bytes([2] * 32), added=[], subtracted=[own, own, bytes([2] * 32)])
    low = (1 << bits) - 1
    np.testing.assert_array_equal(bare.numbers & low, added([one, other]).numbers)
    np.testing.assert_array_equal(bare.tail, added([one, other]).tail)


@pytest.mark.parametrize(
    ("layout", "digest", "code"),
    [
        (Layout(6, 16, 2), bytes(32), "update.wrong_list"),
        (Layout(6, 12, 2), DIGEST, "update.wrong_list"),
        (Layout(8, 16, 2), DIGEST, "update.wrong_shape"),
        (Layout(6, 16, 3), DIGEST, "update.wrong_shape"),
    ],
)
def test_another_vector_than_is_summed_is_refused(layout: Layout, digest: bytes, code: str) -> None:
    with pytest.raises(WireError) as caught:
        open_vector(InMemory(encode_vector(some(16), DIGEST)), layout, digest)
    assert caught.value.code == code


@pytest.mark.parametrize("raw", [b"", b"nonsense", bytes(100), encode_vector(some(16), DIGEST)[:-1]])
def test_what_is_no_vector_is_refused(raw: bytes) -> None:
    with pytest.raises(WireError) as caught:
        open_vector(InMemory(raw), Layout(6, 16, 2), DIGEST)
    assert caught.value.code == "update.malformed"


def test_masked_bytes_of_old() -> None:
    """What a masked vector of old was: devices and platforms of different releases are in one sum."""
    vector = Vector(12, np.arange(70_000, dtype=np.uint16), np.arange(3, dtype=np.uint64))
    found = masked(vector, own=bytes(32), added=[bytes([1] * 32)], subtracted=[bytes([2] * 32)])
    sha256 = hashlib.sha256(encode_vector(found, DIGEST)).hexdigest()
    assert sha256 == "dc0188790943a63affafb72bc71e0072b1d91aa3fb1eb70ba7634e17ae6f4d50"
