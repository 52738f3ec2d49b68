"""Every kind of slot `topology`: what it says of itself is of one piece, and it fits a plan that says nothing else."""

import pytest

from coterie_learning.meetings import MOST_MEMBERS
from coterie_learning.plan import TOPOLOGY, parse_plan
from coterie_learning.topology import Topology

every_kind = pytest.mark.parametrize("kind", TOPOLOGY.kinds.values(), ids=list(TOPOLOGY.kinds))


@every_kind
def test_it_fits_a_plan_that_says_nothing_else(kind: type[Topology]) -> None:
    plan = parse_plan({"topology": {"kind": kind().name}})
    assert plan.topology == kind()


@every_kind
def test_one_with_supernodes_says_who_is_a_neighbour_and_how_long_it_waits(kind: type[Topology]) -> None:
    topology = kind()
    fan_in = topology.fan_in()
    if fan_in is not None:
        assert fan_in >= 2
        assert topology.site_tag()
        assert topology.patience_s() > 0


def test_plans_without_one_have_a_star() -> None:
    assert parse_plan({}).topology == TOPOLOGY.parse({"kind": "star"})


@every_kind
def test_one_with_meetings_has_some_and_a_patience(kind: type[Topology]) -> None:
    rules = kind().meeting_rules()
    if rules is not None:
        assert rules.meetings >= 1
        assert 1 <= rules.group <= MOST_MEMBERS
        assert rules.wait_s > 0
        assert rules.turn_s is None or rules.turn_s > rules.wait_s
