"""When devices come back: the law of Bonawitz et al. 2019 where the load allows it, and the load where it does not."""

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coterie_learning.pace.steer import (
    FEW,
    FOR_GOALS,
    HOURS,
    MEETING_S,
    SHORTEST_S,
    Population,
    Shares,
    divide,
    hour_of_week,
    meeting_window,
    spread_window,
    steer,
)

MONDAY = 4 * 86_400.0
"""The first Monday of Unix time."""
populations = st.builds(
    Population,
    devices=st.integers(1, 2_000_000),
    eligible=st.floats(0, 1),
    goal=st.integers(0, 2000),
    selection_s=st.floats(1, 86_400),
)
fleets = st.lists(populations, max_size=8)
loads = st.floats(1, 5000)


def whole(fleet: list[Population], rest: int = 0) -> int:
    return rest + sum(one.devices for one in fleet)


@given(fleets, st.integers(0, 10_000_000), loads)
def test_no_more_check_in_than_the_platform_answers(fleet: list[Population], rest: int, load: float) -> None:
    paces, common_s = steer(fleet, devices=whole(fleet, rest), load=load)
    rate = rest / common_s + sum(one.devices / pace.interval_s for one, pace in zip(fleet, paces, strict=True))
    assert rate <= load * (1 + 1e-9)


@given(populations, st.integers(0, 10_000_000), loads)
def test_rounds_find_their_devices_in_time_wherever_the_load_allows_it(one: Population, rest: int, load: float) -> None:
    assume(one.devices / one.longest_s() <= FOR_GOALS * load)
    ((pace,), _) = steer([one], devices=one.devices + rest, load=load)
    assert pace.interval_s <= one.longest_s() * (1 + 1e-9)
    if one.goal and one.eligible and not pace.meets:
        arrivals = one.devices * one.eligible * one.selection_s / pace.interval_s
        assert arrivals >= one.goal * (1 - 1e-9) or pace.interval_s == SHORTEST_S


@given(fleets, st.integers(0, 10_000_000), loads)
def test_load_wins_and_nobody_comes_more_seldom_for_the_goals_of_others_than_the_rest(
    fleet: list[Population], rest: int, load: float
) -> None:
    devices = whole(fleet, rest)
    paces, common_s = steer(fleet, devices=devices, load=load)
    assert common_s <= max(SHORTEST_S, devices / load / (1 - FOR_GOALS)) * (1 + 1e-9)
    assert all(SHORTEST_S <= pace.interval_s <= common_s * (1 + 1e-9) for pace in paces)


def test_a_fleet_within_the_load_comes_as_often_as_ever() -> None:
    few = Population(devices=1000, eligible=0.5, goal=100, selection_s=300)
    assert steer([few], devices=3000, load=200) == ([(SHORTEST_S, False)], SHORTEST_S)


def test_a_population_whose_goal_is_out_of_reach_takes_nothing_from_one_that_needs_little() -> None:
    small = Population(devices=1200, eligible=0.1, goal=100, selection_s=300)
    greedy = Population(devices=1_000_000, eligible=1e-6, goal=2000, selection_s=60)
    (first, second), common_s = steer([small, greedy], devices=1_001_200, load=200)
    assert first == (240, True)
    assert second.interval_s == common_s == pytest.approx(1_000_000 / 195)


@given(st.lists(st.floats(0, 1000), max_size=9), st.floats(0, 1000))
def test_those_that_want_least_get_it_all_and_the_others_equally_much(wanted: list[float], amount: float) -> None:
    granted = divide(wanted, amount)
    assert math.fsum(granted) <= amount * (1 + 1e-9)
    short = [share for share, want in zip(granted, wanted, strict=True) if share < want]
    assert all(0 <= share <= want for share, want in zip(granted, wanted, strict=True))
    assert all(abs(share - other) <= 1e-6 * amount for share, other in pairwise(short))
    if short:
        assert math.fsum(granted) == pytest.approx(amount)
        assert max(granted) <= max(short) * (1 + 1e-9)


@given(st.floats(100, 1e5), st.integers(1, 3000), st.integers(0, 1 << 20), st.floats(0, 1e9), st.floats(0, 1))
def test_all_are_told_the_same_instant_and_none_the_one_that_it_came_to(
    interval_s: float, devices: int, phase: int, now_s: float, when: float
) -> None:
    told = meeting_window(interval_s, devices=devices, load=200, phase=phase, now_s=now_s)
    instant = now_s + told.after_s + told.within_s / 2
    later_s = now_s + told.after_s * when
    again = meeting_window(interval_s, devices=devices, load=200, phase=phase, now_s=later_s)
    if later_s + told.within_s < instant - 1e-3:
        assert later_s + again.after_s + again.within_s / 2 == pytest.approx(instant, abs=1e-3)
    came_s = now_s + told.after_s + told.within_s * when
    following = meeting_window(interval_s, devices=devices, load=200, phase=phase, now_s=came_s)
    next_s = came_s + following.after_s + following.within_s / 2
    assert next_s - instant >= interval_s - 1e-3
    assert following.after_s >= 0


def test_the_instants_of_a_long_period_are_instants_of_a_short_one() -> None:
    def instants(interval_s: float) -> set[float]:
        told = [
            meeting_window(interval_s, devices=10, load=200, phase=77, now_s=float(now)) for now in range(0, 20_000, 7)
        ]
        return {now * 7 + one.after_s + MEETING_S / 2 for now, one in enumerate(told)}

    assert instants(900) < instants(200)


def test_where_they_would_be_too_many_at_once_they_spread() -> None:
    few = Population(devices=20_000, eligible=0.001, goal=100, selection_s=60)
    assert few.is_few()
    assert meeting_window(60, devices=few.devices, load=200, phase=0, now_s=0) == spread_window(60)


@given(st.integers(100, 5000), st.floats(0.01, 1), st.integers(1, 500))
def test_those_meet_who_are_few(devices: int, eligible: float, goal: int) -> None:
    one = Population(devices, eligible, goal, 600)
    assert one.is_few() == (devices * eligible < FEW * goal)


def test_shares_are_of_hours_of_the_week_and_the_older_count_less() -> None:
    assert [hour_of_week(MONDAY + hour * 3600.0) for hour in (0, 1, 167, 168)] == [0, 1, 167, 0]
    shares = Shares()
    assert shares.at(MONDAY) == 0
    shares = shares.noted(0.25, at_s=MONDAY)
    assert [shares.at(MONDAY), shares.at(MONDAY + 3600)] == [0.25, 0.25], "the mean of the others where none is known"
    for _ in range(60):
        shares = shares.noted(0.75, at_s=MONDAY + HOURS * 3600.0)
    assert shares.at(MONDAY) == pytest.approx(0.5)
