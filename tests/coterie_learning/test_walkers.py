"""Who is drawn for a meeting, and when one that waits for its meeting begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.meetings import MeetingRules
from coterie_learning.walkers import Turn, walkers_of

GROUPS = [("a", "b"), ("c", "d"), ("e", "f"), ("g",)]


def turn(*, at: int = 0) -> Turn:
    return Turn(3, GROUPS.__getitem__, at=at, wait_s=10, turn_s=100, now_s=0)


@given(count=st.integers(1, 300), walkers=st.integers(1, 32), cycle=st.integers(0, 5), seed=st.integers(0, 99))
def test_in_a_cycle_each_device_is_drawn_once_by_whoever_draws(count: int, walkers: int, cycle: int, seed: int) -> None:
    names = [f"d{number}" for number in range(count)]
    meetings = -(-count // walkers)
    found = [
        walkers_of(names, number, walkers=walkers, seed=seed)
        for number in range(cycle * meetings, (cycle + 1) * meetings)
    ]
    assert sorted(name for group in found for name in group) == sorted(names)
    assert 1 <= min(map(len, found)) <= max(map(len, found)) <= walkers
    assert found[0] == walkers_of(names[::-1], cycle * meetings, walkers=walkers, seed=seed)


def test_another_cycle_has_another_order() -> None:
    names = [f"d{number}" for number in range(16)]
    assert walkers_of(names, 0, walkers=4, seed=1) != walkers_of(names, 4, walkers=4, seed=1)
    assert walkers_of([], 0, walkers=4, seed=1) == ()


def test_whoever_is_not_drawn_is_in_no_group() -> None:
    rules = MeetingRules(8, 0, 2, 1.0, turn_s=9.0)
    names = ["a", "b", "c", "d"]
    for number in range(8):
        drawn = walkers_of(names, number, walkers=2, seed=3)
        assert [rules.group_of(name, names, number, seed=3) for name in names] == [
            drawn if name in drawn else None for name in names
        ]


def test_it_comes_when_those_before_say_that_they_have_met() -> None:
    one = turn()
    for number in range(3):
        assert one.members_to_ask == GROUPS[number]
        assert not one.has_come(1.0)
        one.record_position(one.members_to_ask[0], number + 1, 1.0)
    assert one.has_come(1.0)
    assert one.at == 3


def test_whoever_has_missed_meetings_hears_how_far_the_others_are() -> None:
    one = turn()
    one.record_position("a", 2, 1.0)
    one.record_position("c", 5, 2.0)
    assert (one.at, one.has_come(2.0)) == (2, False)
    one.record_position("f", 6, 2.0)
    assert one.has_come(2.0)
    assert one.at == 5, "its own meeting is over, as two say"


def test_a_single_device_that_lies_ends_only_the_meeting_for_which_it_was_drawn() -> None:
    one = turn()
    one.record_position("a", 9999, 1.0)
    one.record_position("c", 1, 1.0)
    assert (one.at, one.has_come(1.0)) == (1, False)


@pytest.mark.parametrize("said", [None, 0])
def test_a_meeting_that_nobody_begins_or_nobody_ends_is_passed_over(said: int | None) -> None:
    """Ten seconds after the one before, or a hundred after somebody has begun it."""
    one = turn()
    over_s = 10.0
    if said is not None:
        one.record_position("a", said, 5.0)
        one.record_position("b", said, 50.0)
        over_s = 105.0
    assert one.next_s == over_s
    one.has_come(over_s - 0.1)
    assert one.at == 0
    one.has_come(over_s)
    assert (one.at, one.next_s) == (1, over_s + 10)


def test_one_that_is_behind_says_nothing_new() -> None:
    one = turn(at=2)
    one.record_position("e", 1, 9.0)
    assert one.next_s == 10
    assert one.has_come(10.0)


def test_with_nothing_to_wait_for_it_has_come() -> None:
    assert turn(at=3).has_come(0.0)
