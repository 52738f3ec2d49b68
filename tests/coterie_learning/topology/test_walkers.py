import pytest

from coterie_learning.plan import Document, parse_plan
from coterie_learning.topology.walkers import Walkers
from coterie_wire.errors import WireError


@pytest.mark.parametrize(
    ("others", "code"),
    [
        ({"pace": {"kind": "sync", "target_updates": 161}}, "some would never train"),
        ({"merge": {"kind": "trimmed_mean"}}, "meetings have mixed"),
        ({"privacy": {"kind": "clip"}}, "peers read each other's models"),
        ({"codec": {"kind": "one_bit"}}, "says too little"),
    ],
)
def test_what_meetings_would_break_and_rounds_that_are_too_short_are_refused(others: Document, code: str) -> None:
    with pytest.raises(WireError, match=code):
        parse_plan({"topology": {"kind": "walkers"}, **others})


def test_its_rules_are_its_hyperparameters() -> None:
    plan = parse_plan({"topology": {"kind": "walkers"}, "pace": {"kind": "sync", "target_updates": 160}})
    assert plan.topology == Walkers()
    rules = Walkers(meetings=7, walkers=3, wait_s=5, turn_s=60).meeting_rules()
    assert (rules.in_all, rules.group, rules.wait_s, rules.turn_s) == (7, 3, 5, 60)
