"""Idle devices of a large fleet are told when to come back; a small fleet is told what it has always been told."""

import pytest

from coterie.fleet.counting import count_devices
from coterie.fleet.models import Device
from coterie.rounds.directives import Call, check_in_all
from coterie.rounds.models import Assignment, Round, Steering
from coterie.rounds.pacing import steer_fleet
from coterie_learning.kinds import FIRST_RELEASE
from coterie_wire.conditions import Conditions
from coterie_wire.messages import CheckIn, CheckInWindow, Directive
from coterie_wire.version import PROTOCOL
from tests.coterie.rounds.test_check_in_cost import many, others
from tests.coterie.world import ON_BATTERY, fleet_of, later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


def told(device: Device, seconds: float, *, by_socket: bool = False) -> Directive:
    device.refresh_from_db()
    call = Call(device, CheckIn(PROTOCOL, Conditions(), blockers=(ON_BATTERY,)), by_socket)
    return check_in_all([call], now=later(seconds))[0]


@pytest.fixture
def large(settings) -> Device:
    """One device of a fleet that a platform can answer every forty seconds."""
    settings.CHECK_INS_PER_SECOND = 10
    (device,) = fleet_of(1)
    others(400)
    count_devices(now=later(0))
    return device.row


def test_a_small_fleet_is_told_an_interval_and_nothing_more() -> None:
    (device,) = fleet_of(1)
    count_devices(now=later(0))
    steer_fleet(now=later(0))
    assert not Steering.objects.exists()
    directive = told(device.row, 1)
    assert (directive.check_in_s, directive.window) == (15.0, None)


def test_idle_devices_of_a_large_fleet_spread(large: Device) -> None:
    steer_fleet(now=later(0))
    directive = told(large, 1)
    assert (directive.check_in_s, directive.window) == (40.0, CheckInWindow(20.0, 40.0))
    large.refresh_from_db()
    assert large.is_present(later(1 + 2.5 * 60)), "it may come after one and a half intervals"


def test_an_agent_of_the_first_release_is_told_an_interval_alone(large: Device) -> None:
    Device.objects.filter(pk=large.pk).update(capabilities={"agent": FIRST_RELEASE})
    directive = told(large, 1)
    assert (directive.check_in_s, directive.window) == (40.0, None)


def test_devices_of_a_federation_with_few_of_them_meet_unless_they_can_be_woken(large: Device) -> None:
    Device.objects.filter(name__in=[f"other-{number}" for number in range(29)]).update(tags=["kiosk"])
    Device.objects.filter(pk=large.pk).update(tags=["kiosk"], present_until=later(86_400))
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=15, over_selection=1, min_updates=15, deadline_s=130)
    type(federation).objects.filter(pk=federation.pk).update(device_tag="kiosk")
    count_devices(now=later(0))
    steer_fleet(now=later(0))
    row = Steering.objects.get(federation=federation)
    assert (row.devices, row.meets) == (30, True)
    assert [share for share in row.shares if share is not None] == [1.0]
    before = told(large, 1).window
    assert before is not None
    met_at = 1 + before.after_s + 10  # the federation's own phase, drawn with its id, says when
    instants = set()
    for seconds in (met_at + 1, met_at + 3, met_at + 8):
        window = told(large, seconds).window
        assert window is not None
        assert window.within_s == 20
        instants.add(round(seconds + window.after_s + 10, 3))
    assert len(instants) == 1
    assert told(large, 1, by_socket=True).window == CheckInWindow(row.interval_s / 2, row.interval_s)


def test_statistics_go_with_the_federation_that_no_longer_runs(large: Device) -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair, target_updates=15)
    steer_fleet(now=later(0))
    assert set(Steering.objects.values_list("federation", flat=True)) == {federation.pk, None}
    type(federation).objects.filter(pk=federation.pk).update(state="finished")
    steer_fleet(now=later(60))
    assert set(Steering.objects.values_list("federation", flat=True)) == {None}


def test_a_device_with_an_assignment_comes_as_often_as_ever(large: Device) -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=500, min_updates=1, over_selection=1)
    (device,) = many(1)
    directive = device.check_in(later(1))
    assert directive.assignment is not None
    assert directive.window is None


def test_a_large_fleet_asks_those_that_it_can_wake_and_leaves_places_to_the_others(large: Device) -> None:
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=40, min_updates=1, over_selection=1)
    Device.objects.update(check_in_s=40)
    Device.objects.filter(name__startswith="other-1").update(by_socket=True)  # a hundred and eleven
    Device.objects.filter(name__startswith="other-19").update(by_socket=False)
    Device.objects.filter(name__startswith="other-1").exclude(name__startswith="other-10").update(by_socket=False)
    (comes,) = many(1)
    comes.check_in(later(1))
    round_ = Round.objects.get()
    asked = Device.objects.filter(assignments__round=round_).exclude(pk=comes.row.pk)
    assert asked.count() == 11
    assert all(device.by_socket for device in asked)
    assert Assignment.objects.filter(round=round_, device=comes.row).exists(), "it took a place when it came"
    assert round_.places == 40 - 12
