import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.pace import Standing
from coterie_learning.pace.sync import Sync

PACE = Sync(target_updates=10, over_selection=1.3, min_updates=3, deadline_s=60)


def test_it_invites_more_than_it_wants() -> None:
    assert PACE.invite_count(eligible=100, live=0, delivered=0) == 13


def test_it_fills_up_what_has_dropped_out() -> None:
    assert PACE.invite_count(eligible=100, live=7, delivered=4) == 2


def test_without_over_selection_it_invites_what_it_wants() -> None:
    assert Sync(target_updates=10, over_selection=1).invite_count(eligible=100, live=0, delivered=0) == 10


@pytest.mark.parametrize(
    ("standing", "closes"),
    [
        (Standing(live=3, delivered=9, elapsed_s=59), False),
        (Standing(live=3, delivered=10, elapsed_s=1), True),
        (Standing(live=0, delivered=3, elapsed_s=1), True),
        (Standing(live=0, delivered=2, elapsed_s=1), False),
        (Standing(live=0, delivered=0, elapsed_s=60), True),
    ],
)
def test_it_closes_with_enough_updates_or_nobody_left_or_late(standing: Standing, closes: bool) -> None:
    assert PACE.should_close(standing) is closes


def test_too_few_updates_are_not_merged() -> None:
    assert [PACE.verdict(delivered) for delivered in (0, 2, 3, 13)] == ["abandon", "abandon", "merge", "merge"]


@given(eligible=st.integers(0, 50), live=st.integers(0, 50), delivered=st.integers(0, 50), factor=st.floats(1, 10))
def test_it_never_invites_more_than_there_are_or_than_the_factor_allows(
    eligible: int, live: int, delivered: int, factor: float
) -> None:
    pace = Sync(target_updates=10, over_selection=factor)
    count = pace.invite_count(eligible=eligible, live=live, delivered=delivered)
    assert 0 <= count <= eligible
    assert count == 0 or live + delivered + count <= 10 * factor + 1
