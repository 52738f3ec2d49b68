"""Exact sums: any order, any blocks and any tree give the same integers."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.exact_sum import (
    CHUNK,
    GRID,
    LARGEST,
    MOST_WEIGHT,
    TOGETHER,
    WeightedCodes,
    WeightedNumbers,
    add_codes,
    add_numbers,
    mean,
)
from coterie_learning.payloads import Coded
from coterie_wire.tensors import Float32

weights = st.integers(1, 2**18)


def sums(numbers: list[Float32], weights: list[int]) -> np.ndarray:
    total = np.zeros(numbers[0].size, np.int64)
    add_numbers(total, [WeightedNumbers(*pair) for pair in zip(numbers, weights, strict=True)])
    return total


def sum_of_integers(numbers: list[Float32], weights: list[int]) -> np.ndarray:
    """By its definition: one update after the other, in int64."""
    total = np.zeros(numbers[0].size, np.int64)
    for one, weight in zip(numbers, weights, strict=True):
        total += np.rint(one.astype(np.float64) / GRID).astype(np.int64) * weight
    return total


def drawn(seed: int, count: int, size: int, scale: float = 1.0) -> list[Float32]:
    rng = np.random.default_rng(seed)
    return [(scale * rng.standard_normal(size)).astype(np.float32) for _ in range(count)]


@given(seed=st.integers(0, 2**32), found=st.lists(weights, min_size=2, max_size=12), scale=st.floats(1e-9, 20))
def test_a_tree_in_any_order_gives_the_sum_of_all(seed: int, found: list[int], scale: float) -> None:
    """Float64 sums of these differ with the order, in about every second example."""
    numbers = drawn(seed, len(found), 33, scale)
    flat = sums(numbers, found)
    shuffle = random.Random(seed)
    partial = [sums([one], [weight]) for one, weight in zip(numbers, found, strict=True)]
    while len(partial) > 1:
        shuffle.shuffle(partial)
        fan_in = shuffle.randint(2, len(partial))
        partial = [np.add.reduce(partial[:fan_in]), *partial[fan_in:]]
    np.testing.assert_array_equal(partial[0], flat)


@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from([1, 7, 300, CHUNK, CHUNK + 3]),
    found=st.lists(weights, min_size=1, max_size=TOGETHER),
    exponent=st.integers(-45, 7),
)
def test_a_sum_of_products_is_that_of_integers(seed: int, size: int, found: list[int], exponent: int) -> None:
    """Magnitudes from far below the grid's step to the largest, many of them half-way between two steps."""
    rng = np.random.default_rng(seed)
    numbers = [(rng.uniform(-1, 1, size) * 2.0**exponent).astype(np.float32) for _ in found]
    for one in numbers:
        one[rng.random(size) < 0.2] = 0.0
        halves = rng.random(size) < 0.2
        one[halves] = ((rng.integers(-(2**22), 2**22, halves.sum()) + 0.5) * GRID).astype(np.float32)
    np.testing.assert_array_equal(sums(numbers, found), sum_of_integers(numbers, found))


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 5),
    width=st.sampled_from([1, 7, 300, CHUNK + 3]),
    found=st.lists(weights, min_size=1, max_size=TOGETHER),
    significant=st.sampled_from([1, 4, 10, 24]),
)
def test_the_product_of_matrices_is_the_sum_of_integers(
    seed: int, rows: int, width: int, found: list[int], significant: int
) -> None:
    """Also of scales of so few significant bits that float32 holds the sums."""
    rng = np.random.default_rng(seed)

    def scales() -> Float32:
        part, exponents = np.frexp((10 ** rng.uniform(-12, 0, rows)).astype(np.float32))
        return np.ldexp(np.ceil(part * np.float32(2**significant)) * np.float32(2.0**-significant), exponents)

    updates = [
        WeightedCodes(
            Coded(
                rng.integers(-128, 128, (rows, width), dtype=np.int8),
                scales(),
            ),
            weight,
        )
        for weight in found
    ]
    expected = np.zeros((rows, width), np.int64)
    for coded, weight in updates:
        levels = np.rint(coded.scales.astype(np.float64) / GRID).astype(np.int64)
        expected += coded.codes.astype(np.int64) * levels[:, None] * weight
    total = np.zeros(rows * width, np.int64)
    add_codes(total, updates)
    np.testing.assert_array_equal(total.reshape(rows, width), expected)


@pytest.mark.parametrize("unit", [0, 9])
@pytest.mark.parametrize("found", [[2**17 - 1, 1], [2**17, 1], [2**17 + 2, 1]])
def test_sums_on_both_sides_of_what_float32_holds_are_exact(found: list[int], unit: int) -> None:
    """2^24, and 2^24 + 1, which float32 does not have; in multiples of any power of two."""
    total = np.zeros(2, np.int64)
    ones = np.array([GRID * 2**unit], np.float32)
    updates = [
        WeightedCodes(Coded(np.array([[code, -1]], np.int8), ones), weight)
        for code, weight in zip([-128, -128 if found[0] < 2**17 else -1], found, strict=True)
    ]
    add_codes(total, updates)
    expected = sum(update.coded.codes[0].astype(np.int64) * update.weight << unit for update in updates)
    np.testing.assert_array_equal(total, expected)


def test_what_is_weighed_most_and_is_largest_does_not_overflow() -> None:
    largest = np.full(3, np.nextafter(np.float32(LARGEST), np.float32(0)), np.float32)
    largest[1] *= -1
    total = sums([largest, largest], [MOST_WEIGHT - 1, 1])
    np.testing.assert_array_equal(mean(total, MOST_WEIGHT), largest)
    np.testing.assert_array_equal(total, sum_of_integers([largest], [MOST_WEIGHT]))
    found = [MOST_WEIGHT // TOGETHER] * TOGETHER
    np.testing.assert_array_equal(sums([largest] * TOGETHER, found), sum_of_integers([largest] * TOGETHER, found))
    codes = np.array([[127, -127]], np.int8)
    scale = np.float32(LARGEST / 128)
    total = np.zeros(2, np.int64)
    add_codes(total, [WeightedCodes(Coded(codes, np.array([scale])), MOST_WEIGHT)])
    np.testing.assert_array_equal(mean(total, MOST_WEIGHT), [127 * scale, -127 * scale])


def test_products_are_not_rounded_to_float32() -> None:
    """1.1 in float32, weighed with 123,457: a product in float32 is 135802.703125."""
    total = sums([np.array([1.1], np.float32)], [123_457])
    assert f"{total[0] * GRID:.6f}" == "135802.702943"


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0])
def test_the_grid_costs_less_than_the_rounding_of_parameters(scale: float) -> None:
    numbers, found = drawn(1, 20, 1000, scale), [100 + number for number in range(20)]
    exact = sum(one.astype(np.float64) * weight for one, weight in zip(numbers, found, strict=True)) / sum(found)
    np.testing.assert_allclose(mean(sums(numbers, found), sum(found)), exact, rtol=0, atol=GRID / 2)
