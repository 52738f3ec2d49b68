"""Newton's method by hand, beside the laws that every merge keeps; federations take its steps in `tests/coterie`."""

import numpy as np

from coterie_learning.merge.newton import Newton
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


def model(weight: float = 0.0, bias: float = 0.0) -> Tensors:
    """One output of one column."""
    return {
        "line.weight": np.array([[weight]], np.float32),
        "line.bias": np.array([bias], np.float32),
        "line.gradients": np.zeros((1, 2), np.float32),
        "line.curvatures": np.zeros((2, 2), np.float32),
    }


def sums(gradients: list[float], curvatures: list[list[float]]) -> Tensors:
    return {
        **{name: np.zeros_like(tensor) for name, tensor in model().items()},
        "line.gradients": np.array([gradients], np.float32),
        "line.curvatures": np.array(curvatures, np.float32),
    }


def test_one_step_by_hand() -> None:
    found = folded(Newton(l2=0.0), model(1.0, -1.0), [sums([-4, 1], [[2, 0], [0, 0.5]])]).parameters
    assert (found["line.weight"][0, 0], found["line.bias"][0]) == (3, -3)
    assert not found["line.gradients"].any()
    assert not found["line.curvatures"].any()


def test_the_ridge_pulls_the_weight_to_zero_and_not_the_intercept() -> None:
    found = folded(Newton(l2=2.0), model(1.0, 5.0), [sums([0, 0], [[2, 0], [0, 0.5]])]).parameters
    assert (found["line.weight"][0, 0], found["line.bias"][0]) == (0.5, 5)


def test_half_a_step() -> None:
    found = folded(Newton(l2=0.0, learning_rate=0.5), model(), [sums([-4, 1], [[2, 0], [0, 0.5]])]).parameters
    assert (found["line.weight"][0, 0], found["line.bias"][0]) == (1, -1)


def test_columns_that_are_alike_have_the_solution_of_least_norm() -> None:
    found = folded(Newton(l2=0.0), model(), [sums([-2, -2], [[1, 1], [1, 1]])]).parameters
    np.testing.assert_allclose([found["line.weight"][0, 0], found["line.bias"][0]], [1, 1], rtol=1e-6)
