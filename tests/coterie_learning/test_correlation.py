"""Strategies of correlated noise: what they hide agrees with published values, and with every pattern tried."""

from itertools import combinations

import numpy as np
import pytest

from coterie_learning.correlation import Float64, banded_square_root, inverse, sensitivity


def buffered(rounds: int, decays: list[float], shares: list[float]) -> Float64:
    """The strategy of a buffered linear Toeplitz matrix: c_0 = 1, c_j = Σ ω θ^(j-1)."""
    powers = np.power.outer(decays, np.arange(rounds - 1))
    return np.concatenate([[1.0], np.array(shares) @ powers])


@pytest.mark.parametrize(("rounds", "apart", "expected"), [(100, 10, 4.2324), (1000, 100, 5.0313), (1000, 250, 3.3607)])
def test_golden_sensitivities_of_the_banded_square_root(rounds: int, apart: int, expected: float) -> None:
    assert sensitivity(banded_square_root(apart), rounds=rounds, apart=apart) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("rounds", "apart", "decays", "shares", "expected"),
    [
        (100, 10, [0.8329], [0.6100], 5.3527),
        (1000, 100, [0.9775], [0.2979], 5.8818),
        (1000, 100, [0.5777, 0.9817], [0.2574, 0.2502], 6.1805),
        (1000, 250, [0.7526, 0.9906], [0.3171, 0.1614], 3.6262),
    ],
)
def test_golden_sensitivities_of_buffered_matrices(
    rounds: int, apart: int, decays: list[float], shares: list[float], expected: float
) -> None:
    strategy = buffered(rounds, decays, shares)
    assert sensitivity(strategy, rounds=rounds, apart=apart) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("rounds", "apart"), [(100, 10), (1000, 100)])
def test_white_noise_has_the_root_of_the_parts(rounds: int, apart: int) -> None:
    assert sensitivity(np.ones(1), rounds=rounds, apart=apart) == pytest.approx((rounds / apart) ** 0.5)


def test_no_pattern_of_parts_moves_it_further() -> None:
    """Every pattern of parts that are far enough apart, against the worst one of the theorem."""
    rounds, apart = 12, 3
    for strategy in (banded_square_root(apart), banded_square_root(rounds), buffered(rounds, [0.8], [0.6])):
        columns = np.array([[*np.zeros(first), *strategy, *np.zeros(rounds)][:rounds] for first in range(rounds)])
        found = max(
            float(np.linalg.norm(columns[list(pattern)].sum(axis=0)))
            for parts in range(1, rounds // apart + 1)
            for pattern in combinations(range(rounds), parts)
            if np.all(np.diff(pattern) >= apart)
        )
        assert sensitivity(strategy, rounds=rounds, apart=apart) == pytest.approx(found)


def test_the_inverse_is_one() -> None:
    strategy = banded_square_root(4)
    product = np.convolve(strategy, inverse(strategy, 50))[:50]
    np.testing.assert_allclose(product, np.eye(1, 50)[0], atol=1e-12)


def test_less_of_a_prefix_is_noise_than_under_white_noise() -> None:
    """Root mean square error of prefix sums times the sensitivity: 9.6 where white noise has 22.5."""
    strategy, rounds, apart = banded_square_root(10), 100, 10
    prefixes = np.cumsum(inverse(strategy, rounds))
    error = np.sqrt(np.mean(np.cumsum(prefixes**2))) * sensitivity(strategy, rounds=rounds, apart=apart)
    assert error == pytest.approx(9.611, abs=1e-2)
    white = np.sqrt(np.mean(np.arange(1, rounds + 1))) * sensitivity(np.ones(1), rounds=rounds, apart=apart)
    assert white == pytest.approx(22.47, abs=1e-2)


@pytest.mark.parametrize("strategy", [np.array([1.0, 2.0]), np.array([1.0, -0.5])])
def test_a_strategy_of_which_the_worst_pattern_is_not_known_is_refused(strategy: Float64) -> None:
    with pytest.raises(ValueError, match="worst pattern"):
        sensitivity(strategy, rounds=10, apart=2)


def test_parts_nearer_than_the_bands_move_it_further_than_they_are_charged() -> None:
    strategy = banded_square_root(10)
    charged = 2 * float(strategy @ strategy)
    assert sensitivity(strategy, rounds=20, apart=10) ** 2 == pytest.approx(charged)
    assert sensitivity(strategy, rounds=20, apart=9) ** 2 > 1.05 * charged
