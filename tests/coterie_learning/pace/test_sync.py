import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.pace import Act, View
from coterie_learning.pace.sync import Sync

PACE = Sync(target_updates=10, over_selection=1.3, min_updates=3, deadline_s=60)


def test_it_invites_more_than_it_wants() -> None:
    decision = PACE.decide(View(live=0, delivered=0, elapsed_s=0))
    assert (decision.act, decision.devices) == ("invite", 13)


def test_it_fills_up_what_has_dropped_out() -> None:
    assert PACE.decide(View(live=7, delivered=4, elapsed_s=1)).devices == 2


def test_it_waits_for_those_that_it_has_asked() -> None:
    decision = PACE.decide(View(live=10, delivered=4, elapsed_s=1))
    assert (decision.act, decision.devices, decision.reason.sentence) == ("wait", 0, "4 of 10 updates are in")


def test_without_over_selection_it_invites_what_it_wants() -> None:
    assert Sync(target_updates=10, over_selection=1).decide(View(live=0, delivered=0, elapsed_s=0)).devices == 10


@pytest.mark.parametrize(
    ("view", "act"),
    [
        (View(live=10, delivered=9, elapsed_s=59), "wait"),
        (View(live=3, delivered=10, elapsed_s=1), "merge"),
        (View(live=0, delivered=3, elapsed_s=1), "merge"),
        (View(live=0, delivered=2, elapsed_s=1), "invite"),
        (View(live=9, delivered=3, elapsed_s=60), "merge"),
        (View(live=0, delivered=0, elapsed_s=60), "close"),
        (View(live=0, delivered=2, elapsed_s=1, is_open=False), "close"),
        (View(live=0, delivered=3, elapsed_s=1, is_open=False), "merge"),
    ],
)
def test_it_ends_with_enough_updates_or_nobody_left_or_late(view: View, act: Act) -> None:
    assert PACE.decide(view).act == act


def test_too_few_updates_are_told() -> None:
    decision = PACE.decide(View(live=4, delivered=2, elapsed_s=60))
    assert decision.reason.code == "rounds.too_few_updates"
    assert decision.reason.sentence == "needs 3 updates, 2 came before the deadline"


@given(live=st.integers(0, 50), delivered=st.integers(0, 50), factor=st.floats(1, 10))
def test_it_never_invites_more_than_the_factor_allows(live: int, delivered: int, factor: float) -> None:
    count = Sync(target_updates=10, over_selection=factor).decide(View(live, delivered, 0)).devices
    assert count == 0 or live + delivered + count <= 10 * factor + 1
