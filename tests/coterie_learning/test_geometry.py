"""Norms and distances of updates, from what is stored."""

from collections.abc import Sequence

import numpy as np
import pytest

from coterie_learning import geometry as module
from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.geometry import geometry
from coterie_wire.tensors import Float32, Tensors
from tests.coterie_learning.merge.folding import stored


def updates(rows: Float32) -> Sequence[Tensors]:
    """Each in three tensors, the last of which has rows longer than a block."""
    return [{"a": row[:30].reshape(3, 10), "b": row[30:31].reshape(()), "c": row[31:].reshape(2, -1)} for row in rows]


def drawn(count: int, size: int = 5031, seed: int = 0) -> Float32:
    return np.random.default_rng(seed).standard_normal((count, size)).astype(np.float32)


@pytest.mark.parametrize("codec", [Float32Codec(), Int8()])
def test_they_are_those_of_the_whole_matrix(codec: Codec) -> None:
    rows = drawn(7) * np.logspace(-6, 1, 7, dtype=np.float32)[:, None]
    specs, opens = stored(updates(rows)[0], updates(rows), codec)
    found = geometry(specs, opens)
    wide = rows.astype(np.float64)
    close = 1e-6 if codec == Float32Codec() else 0.02
    np.testing.assert_allclose(found.norms, np.linalg.norm(wide, axis=1), rtol=close)
    between = ((wide[:, None] - wide[None, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.squared_distances, between, rtol=close)
    np.testing.assert_array_equal(geometry(specs, opens, distances=False).norms, found.norms)


def test_whole_numbers_are_exact_and_equal_updates_have_no_distance() -> None:
    rows = np.array([[3, 4, 0], [3, 4, 0], [-3, 4, 12]], np.float32)
    specs, opens = stored({"w": rows[0]}, [{"w": row} for row in rows], Float32Codec())
    found = geometry(specs, opens)
    assert found.norms.tolist() == [5, 5, 13]
    assert found.squared_distances.tolist() == [[0, 0, 180], [0, 0, 180], [180, 180, 0]]


def test_nothing_and_the_smallest_numbers_are_borne() -> None:
    rows = np.array([[0, 0], [1e-45, 0], [0, 3e-30]], np.float32)
    specs, opens = stored({"w": rows[0]}, [{"w": row} for row in rows], Float32Codec())
    np.testing.assert_allclose(geometry(specs, opens).norms, rows.max(axis=1).astype(np.float64), rtol=1e-6)


def test_every_sum_of_a_block_is_exact_so_that_no_order_of_additions_changes_a_bit() -> None:
    """Also where all numbers are as large as they may be: in any order, the sum is the same."""
    rng = np.random.default_rng(3)
    for numbers in (np.full((2, module.TOGETHER), 127.9, np.float32), drawn(5, module.TOGETHER)):
        levels = module._whole_levels(numbers)
        exact = levels @ levels.T
        for _ in range(5):
            order = rng.permutation(module.TOGETHER)
            np.testing.assert_array_equal(levels[:, order] @ levels[:, order].T, exact)


def test_memory_is_a_block_whatever_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a smaller budget give the same to rounding, so that none is left out or counted twice."""
    rows = drawn(6)
    specs, opens = stored(updates(rows)[0], updates(rows), Float32Codec())
    whole = geometry(specs, opens)
    monkeypatch.setattr(module, "NUMBERS", 1)
    np.testing.assert_allclose(geometry(specs, opens).squared_distances, whole.squared_distances, rtol=1e-6)
