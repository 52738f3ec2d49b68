"""A device's own account agrees with Google's accountant, which the platform's ledger uses."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.privacy import accounting as platforms
from coterie_learning.accounting import cost_of, epsilon_of, is_affordable, largest_mu2

GOLDEN = [
    (1.0, 1e-5, 4.3772),
    (0.5, 1e-5, 9.9973),
    (0.54308, 1e-4, 8.0000),
    (3.186, 1e-4, 0.9999),
    (5.0, 1e-6, 0.8341),
    (0.1, 1e-6, 96.7173),
]


@pytest.mark.parametrize(("noise", "delta", "epsilon"), GOLDEN)
def test_golden_values(noise: float, delta: float, epsilon: float) -> None:
    assert epsilon_of(cost_of(noise), delta) == pytest.approx(epsilon, abs=1e-3)


@given(noise=st.floats(0.05, 200), delta=st.sampled_from([1e-10, 1e-6, 1e-3]))
def test_epsilon_is_that_of_the_platform(noise: float, delta: float) -> None:
    mu2 = cost_of(noise)
    assert epsilon_of(mu2, delta) == pytest.approx(platforms.epsilon_of(mu2, delta), rel=1e-5, abs=1e-6)


@given(epsilon=st.floats(0.01, 100), delta=st.sampled_from([1e-10, 1e-6, 1e-3]))
def test_a_budget_is_that_of_the_platform(epsilon: float, delta: float) -> None:
    assert largest_mu2(epsilon, delta) == pytest.approx(platforms.most_of(epsilon, delta), rel=1e-4)
    assert epsilon_of(largest_mu2(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-6)


def test_nothing_spent_is_nothing_and_budgets_are_kept_to_the_last() -> None:
    assert epsilon_of(0.0, 1e-6) == 0.0
    cost = cost_of(3.0)
    assert is_affordable(10 * cost, math.fsum([cost] * 9), cost)
    assert not is_affordable(10 * cost, 9.001 * cost, cost)
    assert not is_affordable(0.0, 0.0, cost)
