"""Boosted trees by hand, beside the laws that every merge keeps; federations grow them in `tests/coterie/recipes`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.merge.boosted_trees import BoostedTrees, Split, quantiles
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded

WHOLE = np.float32(3e38)
PLAIN = BoostedTrees(learning_rate=1.0, l2=0.0, min_curvature=0.0, edge_rounds=0)


def empty(*, tree: int = 0, level: int = 0, placed: int = 0) -> Tensors:
    """One tree of two levels over two features of three bins, for one output."""
    return {
        "feature": np.zeros((1, 3), np.float32),
        "threshold": np.full((1, 3), WHOLE),
        "value": np.zeros((1, 4, 1), np.float32),
        "base": np.zeros(1, np.float32),
        "edges": np.array([[-1, 1], [10, 20]], np.float32),
        "place": np.array([placed, tree, level], np.float32),
        "gradients": np.zeros((12, 1), np.float32),
        "curvatures": np.zeros((12, 1), np.float32),
    }


def sums(gradients: list[float], curvatures: list[float]) -> Tensors:
    """An update: histograms [2 nodes, 2 features, 3 bins]."""
    nothing = {name: np.zeros_like(tensor) for name, tensor in empty().items()}
    tables = {"gradients": gradients, "curvatures": curvatures}
    return {**nothing, **{name: np.array(table, np.float32).reshape(12, 1) for name, table in tables.items()}}


ROOT = sums([-1, 0.5, 0.5, 0, 0, 0, *[0] * 6], [0.5, 0.25, 0.25, 0.4, 0.3, 0.3, *[0] * 6])
CHILDREN = sums([0, 0, 0, -0.2, 0.2, 0, 0, -0.3, 0.3, 0, 0, 0], [0.5, 0, 0, 0.2, 0.3, 0, 0, 0.25, 0.25, 0.1, 0.2, 0.2])


def test_two_levels_by_hand() -> None:
    first = folded(PLAIN, empty(), [ROOT]).parameters
    assert first["feature"][0, 0] == 0
    assert first["threshold"].tolist() == [[-1, WHOLE, WHOLE]]
    assert first["value"][0, :, 0].tolist() == [2, 0, -2, 0]
    assert first["place"].tolist() == [0, 0, 1]
    second = folded(PLAIN, first, [CHILDREN]).parameters
    assert second["feature"].tolist() == [[0, 1, 0]]
    assert second["threshold"].tolist() == [[-1, 10, 1]]
    np.testing.assert_allclose(
        second["value"][0, :, 0], [2 + 0.2 / 0.2, 2 - 0.2 / 0.3, -2 + 0.3 / 0.25, -2 - 0.3 / 0.25]
    )
    assert second["place"].tolist() == [0, 1, 0], "the tree is grown"
    after = folded(PLAIN, second, [CHILDREN]).parameters
    assert all(np.array_equal(after[name], second[name]) for name in second), "and it was the last"


def test_the_mean_is_over_samples() -> None:
    halves = (
        sums([-2, 0, 0, 0, 0, 0, *[0] * 6], [1, 0, 0, 0.6, 0.4, 0, *[0] * 6]),
        sums([0, 1, 1, 0, 0, 0, *[0] * 6], [0, 0.5, 0.5, 0.2, 0.2, 0.6, *[0] * 6]),
    )
    merge = BoostedTrees(learning_rate=1.0, l2=0.5, min_curvature=0.0, edge_rounds=0)
    one, two = folded(merge, empty(), [ROOT]).parameters, folded(merge, empty(), halves, [7, 7]).parameters
    assert all(np.array_equal(one[name], two[name]) for name in one)
    unequal = folded(merge, empty(), halves, [9, 7]).parameters
    assert not np.array_equal(one["value"], unequal["value"])


def test_a_node_that_is_better_left_whole_is_only_corrected() -> None:
    flat = sums([0.2, 0.1, 0.1, 0.2, 0.1, 0.1, *[0] * 6], [0.5, 0.25, 0.25, 0.5, 0.25, 0.25, *[0] * 6])
    found = folded(PLAIN, empty(), [flat]).parameters
    assert (found["threshold"] == WHOLE).all()
    np.testing.assert_allclose(found["value"][0, :, 0], [-0.4, 0, 0, 0], rtol=1e-6)
    assert found["place"].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "merge", [BoostedTrees(min_gain=2.0, edge_rounds=0), BoostedTrees(min_curvature=0.6, edge_rounds=0)]
)
def test_what_gains_too_little_or_holds_too_few_is_not_split(merge: BoostedTrees) -> None:
    assert (folded(merge, empty(), [ROOT]).parameters["threshold"] == WHOLE).all()
    assert (folded(BoostedTrees(edge_rounds=0), empty(), [ROOT]).parameters["threshold"] != WHOLE).any()


def test_of_splits_that_are_alike_but_for_rounding_the_first_is_taken() -> None:
    gradients, curvatures = np.zeros((2, 3, 1)), np.full((2, 3, 1), 1 / 3)
    gradients[0, :, 0], gradients[1, :, 0] = [-1, 0, 1], [-1 - 1e-9, 0, 1 + 1e-9]
    found = PLAIN.best_split(gradients, curvatures)
    assert isinstance(found, Split)
    assert (found.feature, found.edge) == (0, 0)
    gradients[1, :, 0] = [-1.1, 0, 1.1]
    better = PLAIN.best_split(gradients, curvatures)
    assert better is not None
    assert better.feature == 1


def test_edges_are_placed_before_trees_grow_and_the_base_is_what_all_have_in_common() -> None:
    merge = BoostedTrees(l2=0.0, edge_rounds=1)
    found = folded(merge, empty(), [sums([0.1, 0.1, 0.2] * 2 + [0] * 6, [0.8, 0.1, 0.1] * 2 + [0] * 6)]).parameters
    assert found["place"].tolist() == [1, 0, 0]
    assert found["edges"][0, 0] < -1
    np.testing.assert_allclose(found["base"], [-0.4], rtol=1e-6)
    assert (found["threshold"] == WHOLE).all()


@given(
    mass=st.lists(st.floats(0, 1), min_size=4, max_size=4),
    edges=st.lists(st.floats(-5, 5, width=32), min_size=3, max_size=3),
)
def test_quantiles_ascend_within_what_the_bins_cover(mass: list[float], edges: list[float]) -> None:
    ascending = np.sort(np.array(edges, np.float32))
    found = quantiles(ascending, np.array(mass))
    span = ascending[-1] - ascending[0]
    assert (np.diff(found) >= 0).all()
    assert ((found >= ascending[0] - span - 1e-4) & (found <= ascending[-1] + span + 1e-4)).all()


def test_even_masses_leave_even_edges() -> None:
    edges = np.array([-1, 0, 1], np.float32)
    np.testing.assert_allclose(quantiles(edges, np.array([0, 0.5, 0.5, 0])), [-0.5, 0, 0.5], atol=1e-6)


def test_a_model_without_its_tables_is_left_as_it_is() -> None:
    lacking = {name: tensor for name, tensor in empty().items() if name != "curvatures"}
    found = folded(PLAIN, lacking, [{name: tensor for name, tensor in ROOT.items() if name != "curvatures"}])
    assert all(np.array_equal(found.parameters[name], lacking[name]) for name in lacking)
