"""Votes in whole numbers."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.exact_sum import MOST_WEIGHT
from coterie_learning.merge import Vote
from coterie_learning.tally import Ballot, outliers, whole

numbers = st.lists(st.floats(0, 1e6), min_size=1, max_size=50)


@given(weights=numbers, divisor=st.none() | st.floats(0.01, 1e6))
def test_whole_numbers_stand_for_the_weights_and_are_summed_exactly(
    weights: list[float], divisor: float | None
) -> None:
    found = whole(Vote(np.array(weights), np.zeros(len(weights)), divisor))
    assert sum(found.weights) <= MOST_WEIGHT
    total = math.fsum(weights) if divisor is None else divisor
    if total and found.divisor > 1000:
        for exact, weight in zip(weights, found.weights, strict=True):
            assert abs(exact / total - weight / found.divisor) <= 0.01 * max(1, math.fsum(weights) / total)


def test_equal_weights_are_ones() -> None:
    assert whole(Vote(np.full(7, 0.3), np.zeros(7)))[:2] == ([1] * 7, 7)
    assert whole(Vote(np.full(7, 1.0), np.zeros(7), 7.0))[:2] == ([1] * 7, 7)


def test_half_of_each_is_half_of_the_mean() -> None:
    assert whole(Vote(np.full(4, 0.5), np.zeros(4), 4.0))[:2] == ([1] * 4, 8)


def test_where_nobody_counts_nothing_is_summed() -> None:
    assert whole(Vote(np.zeros(3), np.zeros(3)))[:2] == ([0] * 3, 1)


def test_what_is_left_out_stands_out_by_its_distance_alone() -> None:
    ballots = [Ballot(1, 1.0), Ballot(1, 9.0), Ballot(0, 1.9), Ballot(0, 9.0), Ballot(1, 0.5)]
    found = outliers(ballots)
    assert list(found) == [3]
    assert found[3].code == "update.outvoted"
    assert outliers(()) == {}
