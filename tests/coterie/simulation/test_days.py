import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.simulation.clock import DAY_S, HOUR_S
from coterie.simulation.days import Day, day_of
from coterie.simulation.scenario import Habits
from coterie_wire.conditions import Requirements

NIGHT = day_of(Habits(charging=(22, 6)), Requirements(), shift_h=0)


def test_it_charges_at_night() -> None:
    assert [NIGHT.is_ready(hour * HOUR_S) for hour in (0, 5.9, 6, 21.9, 22, 24 + 5)] == [
        True, True, False, False, True, True,
    ]  # fmt: skip


def test_work_rests_by_day() -> None:
    assert NIGHT.done_at(23 * HOUR_S, 2 * HOUR_S) == 25 * HOUR_S
    assert NIGHT.done_at(5 * HOUR_S, 2 * HOUR_S) == 23 * HOUR_S
    assert NIGHT.done_at(12 * HOUR_S, 8 * HOUR_S + 1) == DAY_S + 22 * HOUR_S + 1


def test_a_device_is_as_late_as_its_shift() -> None:
    late = day_of(Habits(wifi=(20, 22)), Requirements(), shift_h=3)
    assert [hour for hour in range(24) if late.is_ready(hour * HOUR_S)] == [0, 23]


def test_what_the_plan_does_not_ask_for_holds_nobody_back() -> None:
    assert all(day_of(Habits(charging=(1, 2)), Requirements(charging=False), shift_h=0).ready)


def test_a_device_that_never_may_is_never_done() -> None:
    never = day_of(Habits(charging=(3, 3)), Requirements(), shift_h=0)
    assert never.done_at(0, 1) == math.inf


@given(start=st.integers(0, 10**6), first=st.integers(0, 300_000), second=st.integers(0, 300_000))
def test_work_in_two_parts_takes_as_long_as_in_one(start: int, first: int, second: int) -> None:
    day = Day(tuple(quarter % 7 < 3 for quarter in range(96)))
    assert day.done_at(day.done_at(start, first), second) == pytest.approx(day.done_at(start, first + second), abs=1e-3)
