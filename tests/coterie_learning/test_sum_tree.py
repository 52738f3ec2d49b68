import pytest

from coterie_learning.sum_tree import (
    Fault,
    Offering,
    RequestedSum,
    Wanted,
    faults,
    grown,
    required_sums,
    valid_requests,
)
from tests.coterie_learning.tree_schedules import Schedule

SCHEDULES = 150
TIERS = ("building:", "region:")


def tags(*names: str) -> dict[str, list[str]]:
    return {name: ["building:1", "region:north"] for name in names}


def test_whatever_fails_the_sum_is_that_of_a_star_and_no_update_counts_twice() -> None:
    deepest, resent = 0, 0
    for seed in range(SCHEDULES):
        found = Schedule(seed).run()
        assert found.total.tolist() == found.expected.tolist(), seed
        assert set(found.counted.values()) <= {1}, seed
        assert found.counted.keys() >= found.reachable, seed
        deepest, resent = max(deepest, found.depth), resent + found.updates
    assert deepest == 4
    assert resent > SCHEDULES / 2, "supernodes that hold updates are lost"


def test_without_failures_each_group_sends_one_sum() -> None:
    branches = grown(
        ["a", "b", "c"], [Offering("a", 10, 1.0), Offering("b", 10, 2.0)], tags("a", "b", "c"), ["building:"]
    )
    assert {name: branch.parent for name, branch in branches.items()} == {"a": "b", "b": None, "c": "b"}
    assert [branches[name].tier for name in "abc"] == [0, 1, 0]


def test_a_device_that_leads_nobody_may_stand_above() -> None:
    places = tags("a", "b", "gateway")
    branches = grown(["a", "b"], [Offering("gateway", 10, 1.0)], places, ["region:"])
    assert {name: branch.parent for name, branch in branches.items()} == {
        "a": "gateway",
        "b": "gateway",
        "gateway": None,
    }


def test_tiers_stand_above_each_other_and_a_way_never_comes_back() -> None:
    places = {name: [f"building:{name[0]}", "region:north"] for name in ("a1", "a2", "b1", "b2")}
    offering = [Offering(name, 10, score) for score, name in enumerate(sorted(places))]
    branches = grown(places, offering, places, TIERS)
    assert {name: branch.parent for name, branch in branches.items()} == {
        "a1": "a2",
        "a2": "b2",
        "b1": "b2",
        "b2": None,
    }
    assert {name: branch.tier for name, branch in branches.items()} == {"a1": 0, "a2": 1, "b1": 0, "b2": 2}


@pytest.mark.parametrize(
    ("offering", "where", "why"),
    [
        ([], tags("a", "b"), "nobody"),
        ([Offering("a", 0, 1.0)], tags("a", "b"), "full"),
        ([Offering("a", 10, 1.0)], {"a": ["region:north"], "b": []}, "no_tag"),
        ([Offering("c", 10, 1.0)], {"a": ["region:x"], "b": ["region:y"], "c": ["region:x"]}, "alone"),
    ],
)
def test_who_stays_at_the_top_has_a_reason(offering: list[Offering], where: dict[str, list[str]], why: str) -> None:
    branches = grown(["a", "b"], offering, where, ["region:"])
    assert {branches[name].parent for name in "ab"} == {None}
    assert branches["b" if why in ("full", "no_tag") else "a"].why == why


def test_sums_that_cannot_be_checked_on_the_way_do_not_meet_others() -> None:
    branches = grown(["a", "b", "c"], [Offering("a", 10, 1.0)], tags("a", "b", "c"), TIERS, unchecked=frozenset("c"))
    assert (branches["c"].parent, branches["c"].why) == (None, "unchecked")
    assert branches["b"].parent == "a"


def test_a_sum_is_good_only_with_all_that_go_into_it() -> None:
    wanted = required_sums({"a": ["1"], "b": ["2"]}, {"a": "top", "b": "top", "top": None})
    assert wanted["top"] == Wanted((), frozenset("ab"))
    asked = {name: RequestedSum(one, None, "asked", 0.0) for name, one in wanted.items()}
    assert valid_requests(wanted, asked) == {"a", "b", "top"}
    asked["a"] = RequestedSum(Wanted(["1", "3"], frozenset()), "top", "asked", 0.0)
    assert valid_requests(wanted, asked) == {"b"}


def test_who_waits_for_its_parts_is_not_late() -> None:
    part = RequestedSum(Wanted(["1"], frozenset()), "top", "asked", 90.0)
    top = RequestedSum(Wanted((), frozenset({"part"})), None, "asked", 0.0)
    rules = {"gone": (), "now_s": 100.0, "patience_s": 60.0}
    assert list(faults({"part": part, "top": top}, **rules)) == []
    held = part._replace(state="held", held_s=30.0)
    assert list(faults({"part": held, "top": top}, **rules)) == [Fault("top", "give_up", "late")]
    late = part._replace(since_s=30.0)
    assert list(faults({"part": late, "top": top}, **rules)) == [Fault("part", "cut", "parent_away")]
