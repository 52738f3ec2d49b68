import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.cohort import Weight, discounted, largest_norm, ordinary_norm, shortened, weights
from coterie_learning.exact_sum import MOST_WEIGHT
from coterie_learning.pace import FULL_WEIGHT

DISCOUNTS = st.integers(1, FULL_WEIGHT)


def test_without_stale_updates_weights_stay_as_they_are() -> None:
    assert discounted([3, 5, 7], [FULL_WEIGHT] * 3) == (Weight(3, 3), Weight(5, 5), Weight(7, 7))


def test_a_stale_update_weighs_its_share_and_counts_whole_in_the_sum() -> None:
    assert discounted([3, 5], [FULL_WEIGHT, FULL_WEIGHT // 4]) == (Weight(12, 12), Weight(5, 20))


@given(st.lists(st.tuples(st.integers(1, 10**9), DISCOUNTS), min_size=1, max_size=50))
def test_they_fit_exact_sums_keep_their_shares_and_follow_their_updates(pairs: list[tuple[int, int]]) -> None:
    found = discounted(weights([count for count, _ in pairs]), [discount for _, discount in pairs])
    assert sum(weight.full for weight in found) <= MOST_WEIGHT
    for (_, discount), weight in zip(pairs, found, strict=True):
        assert 1 <= weight.weight <= weight.full
        assert math.isclose(weight.weight / weight.full, discount / FULL_WEIGHT)


def test_five_thousand_updates_fit() -> None:
    found = discounted([10**6] * 5_000, [FULL_WEIGHT - 1] * 5_000)
    assert sum(weight.full for weight in found) <= MOST_WEIGHT


@given(st.lists(st.tuples(DISCOUNTS, st.floats(0, 1e6)), min_size=1, max_size=20), st.floats(1e-3, 1e3))
def test_none_that_is_shortened_adds_more_than_the_bound(pairs: list[tuple[int, float]], bound: float) -> None:
    discounts, norms = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    for (discount, norm), found in zip(pairs, shortened(discounts, norms, bound, parameters=1000), strict=True):
        assert 0 <= found <= discount
        assert found * norm <= FULL_WEIGHT * bound
        assert found == discount or found >= FULL_WEIGHT * bound / (norm * 1.001 + 1e-6) - 1


def test_who_still_learns_is_no_outlier_beside_those_who_have_learned() -> None:
    """Norms as four devices sent them in the digits example, whose third had most to learn in the last round."""
    ordinary = 0.0
    for norms in ([4.38, 3.98, 3.97], [2.28, 2.63, 2.09], [0.19, 0.17, 0.12]):
        most = largest_norm(norms, ordinary)
        assert most is not None
        assert max(norms) <= most
        ordinary = ordinary_norm(norms, ordinary)
    assert ordinary == 3.98
    last = [0.1, 0.16, 2.84]
    assert largest_norm(last, 0.0) == 1.6  # without what was ordinary before
    assert largest_norm(last, ordinary) == 3.98


@given(st.lists(st.lists(st.floats(0.01, 10), min_size=5, max_size=5), min_size=1, max_size=8), st.floats(100, 1e30))
def test_a_minority_raises_what_is_ordinary_to_no_more_than_honest_devices_sent(
    rounds: list[list[float]], attack: float
) -> None:
    found, most = 0.0, max(max(honest) for honest in rounds)
    for honest in rounds:
        found = ordinary_norm([*honest, *[attack] * 4], found)
    assert found <= most
    assert ordinary_norm([attack, attack], found) == found  # among two none can be told from the other


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_the_order_of_updates_changes_nothing(order: tuple[int, ...]) -> None:
    counts, shares = (10, 20, 400), (1024, 512, 341)
    found = discounted([counts[place] for place in order], [shares[place] for place in order])
    straight = discounted(counts, shares)
    assert found == tuple(straight[place] for place in order)
