"""Drift detectors: quiet on a stationary stream, quick after a rise, and the same after being stored."""

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.detectors import DRIFT, AnyDriftState
from coterie_learning.drift import Detector, DriftState
from coterie_learning.drift.adwin import Adwin, AdwinState
from coterie_learning.drift.control_chart import ControlChart
from coterie_learning.drift.page_hinkley import PageHinkley
from coterie_learning.drift.window import Window

DETECTORS: tuple[Detector, ...] = tuple(kind() for kind in DRIFT.kinds.values())
every_detector = pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.name)
BATCH = 50


def alarms(state: DriftState, errors: list[int]) -> Iterator[int]:
    """The batches at which the detector speaks."""
    for number, wrong in enumerate(errors):
        state, drifted = state.observe(wrong, BATCH)
        if drifted:
            yield number


def drawn(rate: float, batches: int, seed: int) -> list[int]:
    return np.random.default_rng(seed).binomial(BATCH, rate, batches).tolist()


@every_detector
def test_a_steady_error_hardly_ever_alarms(detector: Detector) -> None:
    assert sum(len(list(alarms(detector.begin(), drawn(0.05, 200, seed)))) for seed in range(5)) <= 1


@every_detector
@pytest.mark.parametrize("seed", range(5))
def test_a_rise_of_a_third_is_found_within_three_batches(detector: Detector, seed: int) -> None:
    found = list(alarms(detector.begin(), drawn(0.05, 40, seed) + drawn(0.38, 10, seed + 100)))
    assert found
    assert 40 <= found[0] <= 42


@every_detector
def test_a_fall_is_no_drift(detector: Detector) -> None:
    assert not [batch for batch in alarms(detector.begin(), drawn(0.19, 30, 0) + drawn(0.01, 100, 1)) if batch >= 30]


@every_detector
@given(errors=st.lists(st.integers(0, BATCH), max_size=30), cut=st.integers(0, 30))
@settings(max_examples=30)
def test_a_stored_state_goes_on_as_it_was(detector: Detector, errors: list[int], cut: int) -> None:
    state: DriftState = detector.begin()
    for wrong in errors[:cut]:
        state = state.observe(wrong, BATCH).state
    stored: DriftState = msgspec.json.decode(msgspec.json.encode(state), type=AnyDriftState)
    assert stored == state
    assert list(alarms(stored, errors[cut:])) == list(alarms(state, errors[cut:]))


@every_detector
@pytest.mark.parametrize(("wrong", "samples"), [(0, 0), (-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(detector: Detector, wrong: int, samples: int) -> None:
    with pytest.raises(ValueError, match="cannot be wrong"):
        detector.begin().observe(wrong, samples)


def test_the_window_speaks_while_the_mean_is_above_its_limit() -> None:
    # Means of two: -, 15/100, 25/100, 21/100, 20/100; the limit is 20/100 and must be exceeded.
    assert list(alarms(Window(limit=0.20, batches=2).begin(), [5, 10, 15, 6, 14])) == [2, 3]


@given(st.lists(st.integers(0, BATCH), max_size=50))
def test_a_limit_of_one_is_never_reached(errors: list[int]) -> None:
    assert not list(alarms(Window(limit=1.0).begin(), errors))


def test_page_hinkley_sums_what_exceeds_the_mean() -> None:
    # Means so far 0, 10/100, 20/150 of batches 0, 10, 10 wrong: 50 * (0.2 - 0.1) = 5, then 50 * (0.2 - 2/15) = 3.33.
    detector = PageHinkley(slack=0.0, threshold=8.0)
    assert list(alarms(detector.begin(), [0, 10, 10])) == [2]
    assert list(alarms(PageHinkley(slack=0.0, threshold=8.4).begin(), [0, 10, 10])) == []


def test_a_control_chart_draws_its_limit_from_its_own_past() -> None:
    """Ten batches of 50 with 5 wrong each: (50 + 1) / (500 + 2) = 0.1016 usually, and chance explains the variation.

    Over two batches of 50 three deviations are 3 * sqrt(0.1016 * 0.8984 * (1 / 100 + 1 / 500)) = 0.0993: 20.1 of 100
    are the limit, which 20 less a half do not exceed, and 21 less a half do.
    """
    chart = ControlChart(deviations=3, past_batches=10)
    assert not list(alarms(chart.begin(), [5] * 10 + [10, 10]))
    assert list(alarms(chart.begin(), [5] * 10 + [10, 11])) == [11]


def test_a_control_chart_lets_pass_what_is_usual_for_a_device_that_varies() -> None:
    """Labels in bouts: batches with 0 and 10 wrong in turn vary more than chance, and so must what is drift."""
    steady, varying = [5] * 10, [0, 10] * 5
    chart = ControlChart(deviations=3, past_batches=10)
    assert list(alarms(chart.begin(), [*steady, 12, 12])) == [11]
    assert not list(alarms(chart.begin(), [*varying, 12, 12]))


def test_a_control_chart_needs_half_its_past() -> None:
    chart = ControlChart(past_batches=10)
    assert not list(alarms(chart.begin(), [0] * 4 + [50, 50]))
    assert list(alarms(chart.begin(), [0] * 5 + [50, 50])) == [6]


def test_adwin_remembers_a_long_time_in_little_room() -> None:
    state: DriftState = Adwin().begin()
    for wrong in drawn(0.1, 500, 3):
        state = state.observe(wrong, BATCH).state
    assert isinstance(state, AdwinState)
    assert sum(bucket[1] for bucket in state.buckets) == 500 * BATCH
    assert len(state.buckets) < 45
    assert [bucket[0] for bucket in state.buckets] == sorted((bucket[0] for bucket in state.buckets), reverse=True)


def test_adwin_forgets_what_came_before_a_change() -> None:
    state: DriftState = Adwin().begin()
    for wrong in drawn(0.05, 60, 0) + drawn(0.5, 20, 1):
        state = state.observe(wrong, BATCH).state
    assert isinstance(state, AdwinState)
    assert sum(bucket[2] for bucket in state.buckets) / sum(bucket[1] for bucket in state.buckets) > 0.4
