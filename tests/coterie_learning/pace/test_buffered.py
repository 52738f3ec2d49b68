import math

import pytest

from coterie_learning.pace import FULL_WEIGHT, Act, View
from coterie_learning.pace.buffered import Buffered
from coterie_learning.plan import parse_plan, read_plan
from coterie_wire.errors import WireError

PACE = Buffered(buffer=5, at_work=13, max_staleness=20, deadline_s=60)


@pytest.mark.parametrize(
    ("view", "act", "devices"),
    [
        (View(live=0, delivered=0, elapsed_s=0), "invite", 13),
        (View(live=12, delivered=4, elapsed_s=1), "invite", 1),
        (View(live=13, delivered=4, elapsed_s=1), "wait", 0),
        (View(live=12, delivered=5, elapsed_s=1), "merge", 0),
        (View(live=13, delivered=1, elapsed_s=60), "merge", 0),
        (View(live=13, delivered=0, elapsed_s=60), "close", 0),
        (View(live=13, delivered=2, elapsed_s=1, is_open=False), "merge", 0),
    ],
)
def test_it_keeps_devices_at_work_and_merges_a_full_buffer(view: View, act: Act, devices: int) -> None:
    decision = PACE.decide(view)
    assert (decision.act, decision.devices) == (act, devices)


@pytest.mark.parametrize(("staleness", "share"), [(0, 1.0), (1, 1 / math.sqrt(2)), (3, 0.5), (15, 0.25)])
def test_a_stale_update_weighs_the_root_of_its_age_less(staleness: int, share: float) -> None:
    assert PACE.discount(staleness) == pytest.approx(share * FULL_WEIGHT, abs=1)
    assert Buffered(staleness="none").discount(staleness) == FULL_WEIGHT


def test_what_is_too_stale_weighs_nothing() -> None:
    assert (PACE.discount(20) > 0, PACE.discount(21)) == (True, 0)


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ({"groups": {"kind": "affinity"}, "merge": {"kind": "distill"}}, "groups are made of the models"),
        ({"merge": {"kind": "distill"}}, "merge distill compares models"),
        ({"merge": {"kind": "median"}}, "merge median gives every update the same weight"),
    ],
)
def test_it_refuses_what_needs_one_base(others: dict[str, object], says: str) -> None:
    with pytest.raises(WireError, match=says):
        parse_plan({"pace": {"kind": "buffered"}, **others})


def test_a_median_goes_with_it_where_nothing_is_discounted() -> None:
    plan = parse_plan({"pace": {"kind": "buffered", "staleness": "none"}, "merge": {"kind": "median"}})
    assert plan == read_plan({"pace": {"kind": "buffered", "staleness": "none"}, "merge": {"kind": "median"}})
