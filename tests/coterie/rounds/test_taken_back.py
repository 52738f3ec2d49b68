"""An owner takes back a federation, or something that its plan asks: the device stops, and is not invited."""

import pytest

from coterie.federations.selectors import present_members, taking_members
from coterie.fleet.declining import declined_by
from coterie.rounds import directives
from coterie.rounds.directives import why_not_training
from coterie.rounds.models import Assignment, Round
from coterie_learning.kind_names import own_kinds
from coterie_wire.conditions import Conditions
from coterie_wire.messages import Capabilities, CheckIn, DataMetadata, Directive
from coterie_wire.version import PROTOCOL
from tests.coterie.world import START, ScriptedDevice, fleet_of, later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


def say(device: ScriptedDevice, at: float, *declines: str) -> Directive:
    """Check in with what its owner has taken back."""
    device.row.refresh_from_db()
    able = Capabilities(
        cores=4, memory_bytes=1, machine="Linux", agent="0.2.0", kinds=own_kinds(), declines=tuple(declines)
    )
    message = CheckIn(
        protocol=PROTOCOL,
        conditions=Conditions(),
        capabilities=able,
        version=device.version,
        metadata=DataMetadata(samples=40),
    )
    return directives.check_in(device=device.row, message=message, now=later(at))


def at_work() -> tuple[ScriptedDevice, ScriptedDevice, str]:
    """Two devices in a round of one federation, and the assignment of the first."""
    make_federation(make_version(make_pair()).pair, target_updates=2, min_updates=2, over_selection=1.0)
    first, second = fleet_of(2)
    for device in (first, second, first):
        device.check_in(START)
    assignment = say(first, 1).assignment
    assert assignment is not None
    return first, second, assignment.assignment


@pytest.mark.parametrize("part", ["federation:digits", "readable"])
def test_a_device_stops_at_its_next_check_in_and_says_why(part: str) -> None:
    first, _, assignment = at_work()
    directive = say(first, 2, part)
    assert directive.assignment is None, "the device drops what it has in hand"
    assert directive.federations == ()
    assert directive.wait is not None and directive.wait.code == "rounds.taken_back"
    ended = Assignment.objects.get(pk=assignment)
    assert (ended.state, ended.reason_code) == ("released", "rounds.taken_back")
    first.row.refresh_from_db()
    (why,) = why_not_training(first.row, now=later(2))
    assert part.replace("federation:", "federation ") in why.sentence


def test_it_is_not_invited_until_it_is_given_again() -> None:
    first, second, _ = at_work()
    say(first, 2, "federation:digits")
    federation = Round.objects.get().federation
    assert [device.pk for device in taking_members(federation)] == [second.row.pk]
    assert [device.pk for device in present_members(federation, now=later(3))] == [second.row.pk]
    assert first.check_in(later(3)).assignment is None
    first.row.refresh_from_db()
    assert declined_by(first.row) == ("federation:digits",), "what a check-in leaves out holds on"
    assert say(first, 4).federations == ("digits",)
    assert list(taking_members(federation).values_list("pk", flat=True).order_by("name")) == [
        first.row.pk,
        second.row.pk,
    ]


def test_others_federations_and_what_no_plan_asks_change_nothing() -> None:
    first, _, assignment = at_work()
    told = say(first, 2, "federation:voices", "help", "summed").assignment
    assert told is not None
    assert told.assignment == assignment


def test_a_name_that_begins_alike_is_another() -> None:
    first, _, assignment = at_work()
    told = say(first, 2, "federation:digit", "federation:digits-2").assignment
    assert told is not None
    assert told.assignment == assignment
