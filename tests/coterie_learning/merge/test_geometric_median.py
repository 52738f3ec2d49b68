"""The geometric median, beside the laws that every merge keeps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.geometric_median import GeometricMedian
from coterie_wire.tensors import Float32, Tensors
from tests.coterie_learning.merge.folding import folded, tallied

BASE = {"w": np.zeros(2, np.float32)}


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def drawn(seed: int, count: int, size: int = 2) -> Float32:
    return np.random.default_rng(seed).standard_normal((count, size)).astype(np.float32)


def merged(kind: GeometricMedian | FedAvg, updates: list[Tensors]) -> Float32:
    base = {name: np.zeros_like(tensor) for name, tensor in updates[0].items()}
    return folded(kind, base, updates).parameters["w"]


def test_one_turn_by_hand() -> None:
    """The mean of 0, 0, 0 and 8 is 2, from which they are 2, 2, 2 and 6: weights of 3, 3, 3 and 1."""
    updates = [of(0, 0)] * 3 + [of(8, 0)]
    np.testing.assert_allclose(merged(GeometricMedian(turns=1), updates), [0.8, 0], rtol=1e-5)
    found = tallied(GeometricMedian(turns=1), updates)
    np.testing.assert_allclose([ballot.weight for ballot in found.ballots], [1.2, 1.2, 1.2, 0.4])
    np.testing.assert_allclose([ballot.distance for ballot in found.ballots], [0.8, 0.8, 0.8, 7.2])


def test_of_three_corners_it_is_where_they_are_seen_at_equal_angles() -> None:
    """Fermat's point of an equilateral triangle is its centre; of a flat one, of more than 120°, its tip."""
    corners = [of(0, 0), of(2, 0), of(1, 3**0.5)]
    np.testing.assert_allclose(merged(GeometricMedian(turns=100), corners), [1, 3**-0.5], atol=1e-4)
    flat = [of(-8, 0), of(8, 0), of(0, 1)]
    np.testing.assert_allclose(merged(GeometricMedian(turns=100), flat), [0, 1], atol=0.05)


@given(seed=st.integers(0, 2**32), count=st.integers(1, 12))
def test_without_a_turn_it_is_the_uniform_mean(seed: int, count: int) -> None:
    """The degenerate case."""
    updates = [{"w": row} for row in drawn(seed, count)]
    mean = folded(FedAvg(weight_by="uniform"), BASE, updates).parameters["w"]
    np.testing.assert_array_equal(merged(GeometricMedian(turns=0), updates), mean)


def test_one_update_is_taken_as_it_is() -> None:
    assert folded(GeometricMedian(), BASE, [of(1, -2)], [7]).parameters["w"].tolist() == [1, -2]


def test_it_is_that_of_steps_on_the_whole_matrix() -> None:
    matrix = drawn(3, 9, 3000)
    matrix[:2] *= 5
    z = matrix.mean(axis=0)
    for _ in range(8):
        weights = 1 / np.maximum(1e-6, np.linalg.norm(matrix - z, axis=1))
        z = weights @ matrix / weights.sum()
    np.testing.assert_allclose(merged(GeometricMedian(), [{"w": row} for row in matrix]), z, atol=1e-5)


def test_what_lies_far_away_counts_little_and_nobody_is_left_out() -> None:
    updates = [*({"w": row} for row in drawn(0, 8)), of(100, 100), of(90, -90)]
    found = tallied(GeometricMedian(), updates)
    assert min(ballot.weight for ballot in found.ballots) > 0
    assert max(ballot.weight for ballot in found.ballots[8:]) < 0.1
    assert np.abs(merged(GeometricMedian(), updates)).max() < 2
    assert np.abs(merged(FedAvg(), updates)).max() > 15


def test_more_than_half_who_agree_have_it() -> None:
    """The negative control: where most lie, the median is the lie."""
    np.testing.assert_allclose(merged(GeometricMedian(turns=50), [of(1, 1)] * 4 + [of(-9, -9)] * 5), [-9, -9], atol=0.1)
