"""Numbers of the sum: right in the mean, as precise as promised, and never wrapped by honest updates."""

import math

import numpy as np
import pytest

from coterie_learning.secure_sum.grid import Grid
from coterie_learning.secure_sum.masks import UInt
from coterie_learning.secure_sum.vector import word
from coterie_wire.errors import WireError
from coterie_wire.tensors import Float32

COUNT = 3_000


def shaped(shape: str, count: int = COUNT) -> Float32:
    """A vector of length 1."""
    found = np.zeros(count, np.float32)
    match shape:
        case "normal":
            found = np.random.default_rng(0).standard_normal(count).astype(np.float32)
        case "one number":
            found[count // 3] = 1
        case "a row":
            found[100:164] = 1
        case "a column":
            found[::64] = 1
        case "another column":
            found[::17] = -1
        case "all alike":
            found[:] = 1
    unit: Float32 = found / np.float32(np.linalg.norm(found))
    return unit


def total(grid: Grid, updates: list[Float32], weights: list[float] | None = None) -> UInt:
    found: UInt = np.zeros(grid.length, word(grid.bits))
    for seed, (update, weight) in enumerate(zip(updates, weights or [1.0] * len(updates), strict=True)):
        found += grid.rounded(update, weight=weight, seed=seed)
    return found


SHAPES = ["normal", "one number", "a row", "a column", "another column", "all alike"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("members", "bits"), [(3, 8), (10, 12), (40, 16), (20, 20), (10, 32)])
def test_nothing_wraps_where_all_are_as_long_as_they_may_be_and_alike(shape: str, members: int, bits: int) -> None:
    grid, update = Grid(COUNT, bits, 2.5, members, seed=11), shaped(shape) * np.float32(2.5)
    mean = grid.mean(total(grid, [update] * members), weight=members)
    error = float(np.linalg.norm(mean - update))
    rounding = grid.step * math.sqrt(grid.length) / 2 / math.sqrt(members)
    float32 = 1e-5
    assert error < 1.3 * rounding + float32


@pytest.mark.parametrize("members", [1, 10, 100])
def test_the_mean_is_as_precise_as_its_bits(members: int) -> None:
    """Rounding at random has the variance f·(1 - f) of a step squared, 1/6 on average."""
    grid = Grid(COUNT, 16, 1.0, members, seed=5)
    rng = np.random.default_rng(1)
    updates = [v / np.linalg.norm(v) for v in rng.standard_normal((members, COUNT)).astype(np.float32)]
    error = grid.mean(total(grid, updates), weight=members) - np.mean(updates, axis=0)
    expected = grid.step / math.sqrt(6 * members)
    assert abs(float(error.std()) / expected - 1) < 0.15


def test_rounding_is_right_in_the_mean() -> None:
    grid, update, draws = Grid(64, 8, 1.0, 3, seed=1), shaped("normal", 64), 2_000
    found = np.mean([grid.mean(grid.rounded(update, weight=1, seed=seed), weight=1) for seed in range(draws)], axis=0)
    assert np.abs(found - update).max() < 5 * grid.step / 2 / math.sqrt(draws)


def test_updates_count_by_their_weights() -> None:
    grid = Grid(COUNT, 20, 1.0, 3, seed=2)
    updates, weights = [shaped("normal"), shaped("a row"), shaped("a column")], [1.0, 0.25, 1 / 1024]
    wanted = sum(weight * update for weight, update in zip(weights, updates, strict=True)) / sum(weights)
    mean = grid.mean(total(grid, updates, weights), weight=sum(weights))
    np.testing.assert_allclose(mean, wanted, atol=6 * grid.step)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 2_410, 20_000])
def test_numbers_that_fill_up_are_few_and_go_away(count: int) -> None:
    grid = Grid(count, 32, 1.0, 2, seed=3)
    update = shaped("all alike", count)
    assert grid.length % 2 == 0 and grid.length >= count
    assert grid.length <= max(64, 1.07 * count + 64)
    np.testing.assert_allclose(grid.mean(total(grid, [update, update]), weight=2), update, atol=1e-5)


def test_the_same_seed_gives_the_same_and_devices_with_another_rotation_are_not_understood() -> None:
    grid, update = Grid(COUNT, 16, 1.0, 4, seed=1), shaped("normal")
    one, again = (grid.rounded(update, weight=1, seed=9) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, grid.rounded(update, weight=1, seed=10))
    other = grid._replace(seed=2).mean(one, weight=1)
    assert abs(np.corrcoef(other, update)[0, 1]) < 0.1


def test_so_few_bits_do_not_hold_so_many_devices() -> None:
    with pytest.raises(WireError) as caught:
        _ = Grid(COUNT, 8, 1.0, 2_000, seed=0).step
    assert caught.value.code == "secure_sum.too_few_bits"
    assert Grid(COUNT, 8, 1.0, 1_000, seed=0).step > Grid(COUNT, 12, 1.0, 1_000, seed=0).step
