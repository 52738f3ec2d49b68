"""Epsilon of Gaussian mechanisms, against published values and an integration by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.privacy.accounting import cost_of, epsilon_of, most_of, releases_left
from coterie_learning.privacy import Spend


@pytest.mark.parametrize(
    ("noise", "delta", "epsilon"),
    [
        (1.0, 1e-5, 4.3772),
        (0.5, 1e-5, 9.9973),
        (0.54308, 1e-4, 8.0000),
        (3.186, 1e-4, 0.9999),
        (5.0, 1e-6, 0.8341),
        (0.1, 1e-6, 96.7173),
        (1 / math.sqrt(2 * 0.15068), 1e-10, 3.4240),  # Gboard's keyboards, from ρ
        (1 / math.sqrt(2 * 0.014343), 1e-10, 0.99355),
    ],
)
def test_golden_values(noise: float, delta: float, epsilon: float) -> None:
    assert epsilon_of(cost_of(Spend(noise)), delta) == pytest.approx(epsilon, abs=1e-3)
    assert most_of(epsilon, delta) == pytest.approx(noise**-2, rel=2e-3)


def test_many_releases_are_one_gaussian_as_a_numerical_accountant_finds_too() -> None:
    from dp_accounting import GaussianDpEvent, SelfComposedDpEvent  # only here: every process of the suite imports this
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    accountant.compose(SelfComposedDpEvent(GaussianDpEvent(4.0), 10))
    assert epsilon_of(10 * cost_of(Spend(4.0)), 1e-5) == pytest.approx(accountant.get_epsilon(1e-5), abs=2e-3)


def test_taking_part_twice_doubles_the_sensitivity() -> None:
    assert cost_of(Spend(2.0, participations=2)) == cost_of(Spend(1.0))
    assert epsilon_of(0.0, 1e-6) == 0


@given(st.floats(0.05, 20), st.floats(0.5, 20), st.integers(0, 200))
def test_what_is_left_pays_and_one_more_does_not(epsilon: float, noise: float, spent: int) -> None:
    most, cost = most_of(epsilon, 1e-6), cost_of(Spend(noise))
    left = releases_left(most, spent * cost, cost)
    if left or spent * cost <= most:
        assert epsilon_of((spent + left) * cost, 1e-6) <= epsilon * (1 + 1e-6)
    assert epsilon_of((spent + left + 1) * cost, 1e-6) > epsilon * (1 - 1e-6)
