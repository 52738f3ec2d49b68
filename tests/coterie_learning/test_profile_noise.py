"""Noise on the counts of a profile: its size, what it is worth, and that it leaves a profile."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.accounting import epsilon_of
from coterie_learning.help.cartel import Cartel
from coterie_learning.profile import Counts
from coterie_learning.profile_noise import noised, sample_noise

KEY = bytes(32)
CLASSES = 2000
MANY = Counts(np.full(CLASSES, 10_000), np.full(CLASSES, 5_000))


def test_noise_has_the_deviation_that_is_promised_on_both_histograms_and_is_unrelated() -> None:
    told = noised(MANY, 3.0, KEY)
    found, missed = told.samples - told.wrong - 5_000, told.wrong - 5_000
    for noise in (found, missed):
        assert abs(noise.mean()) < 4 * 3 * math.sqrt(2) / math.sqrt(CLASSES)
        assert noise.std() == pytest.approx(3 * math.sqrt(2), rel=0.08)
    assert abs(np.corrcoef(found, missed)[0, 1]) < 0.1


def test_another_sample_in_ones_place_moves_the_counts_by_no_more_than_noise_is_measured_against() -> None:
    """Two cells of the histograms of samples found and missed, by 1 each: √2."""
    before = Counts(np.array([5, 3]), np.array([1, 0]))
    after = Counts(np.array([4, 4]), np.array([0, 0]))  # a missed one of class 0 is now a found one of class 1
    cells = [np.concatenate([one.samples - one.wrong, one.wrong]) for one in (before, after)]
    assert np.linalg.norm(cells[1] - cells[0]) == pytest.approx(math.sqrt(2))


def test_the_key_decides_and_another_draws_anew() -> None:
    assert (noised(MANY, 1.0, KEY).samples == noised(MANY, 1.0, KEY).samples).all()
    other = noised(MANY, 1.0, bytes([1] * 32))
    assert (noised(MANY, 1.0, KEY).samples != other.samples).mean() > 0.5


def test_classes_within_the_noise_are_left_out_and_others_are_not() -> None:
    absent, there = np.zeros(CLASSES, np.int64), np.full(CLASSES, 40)
    seen = noised(Counts(absent, absent), 2.0, KEY)
    assert (seen.samples > 0).mean() < 0.05
    assert (noised(Counts(there, absent), 2.0, KEY).samples > 0).mean() > 0.999


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=20),
    st.floats(0.01, 100),
    st.binary(min_size=32, max_size=32),
)
def test_what_comes_out_is_a_profile(cells: list[tuple[int, int]], noise: float, key: bytes) -> None:
    found, missed = np.array(cells).T
    told = noised(Counts(found + missed, missed), noise, key)
    assert (told.samples >= 0).all()
    assert ((told.wrong >= 0) & (told.wrong <= told.samples)).all()


def test_a_sample_is_told_of_once_for_each_report_and_request_that_its_batches_are_in() -> None:
    assert sample_noise(Cartel(), 1e-6) is None
    # Of ten batches one report, of two batches one request: two tellings.
    assert epsilon_under(Cartel(noise_multiplier=2.0)) == pytest.approx(epsilon_of(2 / 4, 1e-6))
    often = Cartel(noise_multiplier=2.0, report_batches=3, cool_down_batches=1)  # four reports, two requests
    assert epsilon_under(often) == pytest.approx(epsilon_of(6 / 4, 1e-6))


def test_noise_that_bounds_nothing_is_none() -> None:
    assert sample_noise(Cartel(noise_multiplier=1e-9), 1e-6) is None


def epsilon_under(rules: Cartel) -> float:
    noise = sample_noise(rules, 1e-6)
    assert noise is not None and noise.delta == 1e-6
    return noise.epsilon
