import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.cohort import Weight, discounted, shortened, weights
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


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_the_order_of_updates_changes_nothing(order: tuple[int, ...]) -> None:
    counts, shares = (10, 20, 400), (1024, 512, 341)
    found = discounted([counts[place] for place in order], [shares[place] for place in order])
    straight = discounted(counts, shares)
    assert found == tuple(straight[place] for place in order)
