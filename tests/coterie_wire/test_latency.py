"""Histograms of durations: what they count, add up, and say of quantiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_wire.latency import BUCKETS, Durations, Histogram, bucket_of

DURATIONS = st.lists(st.floats(1e-6, 30.0), min_size=1, max_size=200)


def counted(durations: list[float]) -> Histogram:
    counter = Durations()
    for duration in durations:
        counter.add(duration)
    return counter.histogram()


@given(DURATIONS, st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_within_a_bucket_of_the_exact_one(durations: list[float], share: float) -> None:
    found = counted(durations).quantile_s(share)
    exact = float(np.quantile(durations, share, method="inverted_cdf"))
    assert found == pytest.approx(exact, rel=0.0906)


@given(DURATIONS, DURATIONS)
def test_two_histograms_add_up_to_that_of_all(some: list[float], others: list[float]) -> None:
    assert counted(some) + counted(others) == counted(some + others)


def test_of_nothing_there_is_no_quantile() -> None:
    assert Histogram().quantile_s(0.5) is None
    assert Histogram() + Histogram() == Histogram()


@pytest.mark.parametrize(("duration_s", "bucket"), [(0.0, 0), (1e-6, 0), (2e-6, 4), (1e9, BUCKETS - 1)])
def test_the_shortest_and_the_longest_are_counted_too(duration_s: float, bucket: int) -> None:
    assert bucket_of(duration_s) == bucket
