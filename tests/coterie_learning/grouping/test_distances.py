import numpy as np
import pytest

from coterie_learning.grouping import distances as module
from coterie_learning.grouping.distances import FLOOR, group_distances, model_distances
from coterie_learning.grouping.silhouette import mean_silhouette


def test_the_distance_is_the_symmetrised_cross_entropy_without_the_self_entropy() -> None:
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6])
    smooth_p, smooth_q = ((1 - FLOOR) * x + FLOOR / 3 for x in (p, q))
    expected = ((smooth_p - smooth_q) * (np.log(smooth_p) - np.log(smooth_q))).sum() / 2
    found = model_distances(np.array([[p], [q]], np.float32))
    assert found[0, 1] == pytest.approx(expected, rel=1e-4)
    assert found[0, 1] == found[1, 0]
    assert found[0, 0] == found[1, 1] == 0


def test_blocks_of_samples_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = np.random.default_rng(0).random((4, 37, 5)).astype(np.float32)
    outputs = raw / raw.sum(axis=2, keepdims=True)
    whole = model_distances(outputs)
    monkeypatch.setattr(module, "BLOCK_BYTES", 4 * 4 * 5 * 10)
    assert np.allclose(model_distances(outputs), whole, rtol=1e-4)


def test_models_without_a_class_in_common_are_far_but_not_infinitely() -> None:
    found = model_distances(np.array([[[1, 0, 0]], [[0, 1, 0]]], np.float32))
    assert 5 < found[0, 1] < 10


def test_silhouettes_by_hand() -> None:
    points = np.array([0.0, 1.0, 10.0])
    widths = [(10 - 1) / 10, (9 - 1) / 9, 0]
    distances = np.abs(points[:, None] - points[None, :]).astype(np.float32)
    assert mean_silhouette(distances, np.array([0, 0, 1])) == pytest.approx(np.mean(widths))


def test_distances_of_groups_by_hand() -> None:
    points = np.array([0.0, 2.0, 10.0])
    distances = np.abs(points[:, None] - points[None, :]).astype(np.float32)
    assert group_distances(distances, np.array([0, 0, 1])).tolist() == [[2, 9], [9, 0]]
