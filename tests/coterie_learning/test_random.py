"""The generator follows its standards, and what is drawn is spread as chance would spread it."""

import hashlib
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.random import (
    derive_seed,
    device_lot,
    epoch_order,
    lot,
    part_seed,
    permutation,
    random_bytes,
    step_seed,
)

seeds = st.integers(0, 2**53)
paths = st.lists(st.one_of(st.text(max_size=8), st.integers(0, 2**53)), max_size=3)


def key_stream(key: bytes, count: int) -> bytes:
    """ChaCha20 as RFC 8439, section 2.3, writes it down; what a phone's browser computes."""

    def quarter_round(x: list[int], a: int, b: int, c: int, d: int) -> None:
        for one, other, mixed, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[one] = x[one] + x[other] & 0xFFFFFFFF
            x[mixed] ^= x[one]
            x[mixed] = (x[mixed] << shift | x[mixed] >> 32 - shift) & 0xFFFFFFFF

    stream = b""
    for counter in range(-(-count // 64)):
        start = struct.unpack("<16I", b"expand 32-byte k" + key + struct.pack("<I", counter) + b"LibsodiumDRG")
        x = list(start)
        for _ in range(10):
            for column in range(4):
                quarter_round(x, column, 4 + column, 8 + column, 12 + column)
            for place in range(4):
                quarter_round(x, place, 4 + (place + 1) % 4, 8 + (place + 2) % 4, 12 + (place + 3) % 4)
        stream += struct.pack("<16I", *(one + other & 0xFFFFFFFF for one, other in zip(x, start, strict=True)))
    return stream[:count]


@given(count=st.integers(0, 300), seed=seeds, path=paths)
def test_bytes_are_the_key_stream_of_the_paths_hash(count: int, seed: int, path: list[str | int]) -> None:
    key = hashlib.sha256("/".join(str(part) for part in (seed, *path)).encode()).digest()
    assert lot(seed, *path) == key
    assert random_bytes(count, seed, *path) == key_stream(key, count)


@given(seed=seeds, path=paths)
def test_a_seed_is_the_beginning_of_the_paths_hash(seed: int, path: list[str | int]) -> None:
    derived = derive_seed(seed, *path)
    assert 0 <= derived < 2**53
    assert f"{derived:053b}" == "".join(f"{byte:08b}" for byte in lot(seed, *path))[:53]


@given(seed=seeds, step=st.integers(0, 2**53))
def test_a_graph_divides_the_seed_of_a_step_exactly(seed: int, step: int) -> None:
    assert 0 <= step_seed(seed, step) < 2**52
    assert step_seed(seed, step) == derive_seed(seed, "step", step) // 2


@given(seed=seeds, number=st.integers(1, 2**31))
def test_what_has_the_same_number_draws_from_paths_of_its_own(seed: int, number: int) -> None:
    drawn = {
        step_seed(seed, number),
        derive_seed(seed, "epoch", number) >> 1,
        part_seed(seed, number) >> 1,
        int.from_bytes(device_lot(seed, str(number))[:8], "big") >> 12,
        derive_seed(seed, number) >> 1,
    }
    assert len(drawn) == 5
    assert epoch_order(9, seed, number).tolist() == permutation(9, seed, "epoch", number).tolist()


@given(count=st.integers(0, 200), seed=seeds, path=paths)
def test_a_permutation_holds_every_number_once_in_the_order_of_its_lot(
    count: int, seed: int, path: list[str | int]
) -> None:
    order = permutation(count, seed, *path)
    assert sorted(order.tolist()) == list(range(count))
    drawn = np.frombuffer(random_bytes(8 * count, seed, *path), "<u8")[order].tolist()
    assert all(one <= other for one, other in pairwise(drawn))


def test_bits_are_even_and_paths_unrelated() -> None:
    streams = [np.unpackbits(np.frombuffer(random_bytes(1 << 17, 7, "dither", part), np.uint8)) for part in range(4)]
    bits = np.stack(streams).astype(float)
    deviation = 5 / np.sqrt(bits.shape[1])  # of five standard errors of a coin's mean, times two
    assert np.abs(2 * bits.mean(axis=1) - 1).max() < deviation
    assert np.abs(np.corrcoef(bits) - np.eye(4)).max() < deviation


@pytest.mark.parametrize("part", range(3))
def test_every_place_of_a_permutation_is_as_likely(part: int) -> None:
    firsts = np.bincount([permutation(6, seed, part)[0] for seed in range(6000)], minlength=6)
    assert np.abs(firsts - 1000).max() < 5 * np.sqrt(1000 * 5 / 6)
