"""What left devices is told by kind, device and day."""

import pytest
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.merging.models import Update
from coterie.rounds.traffic import Day, departures_of, traffic_by_day
from coterie.transfer.advancing import sweep
from coterie.transfer.models import ReportedDay, Transfer
from tests.coterie.transfer.peers import KNOWS_2, Member, make_peers
from tests.coterie.world import START, ScriptedDevice, later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
DAY_S = 24 * 3600.0


def test_updates_portions_and_profiles_leave_a_device() -> None:
    peers = make_peers()
    target, helper = Member("target"), Member("helper")
    for member in (target, helper):
        member.check_in(later(0))
    helper.tell(KNOWS_2, later(0))
    helper.tell(KNOWS_2, later(1))
    target.ask(1, later(1))
    sweep(now=later(1))
    serve = helper.check_in(later(2)).serve
    assert serve is not None
    helper.serve(serve.transfer, later(3))
    pair = make_pair("rounds")
    make_version(pair)
    make_federation(pair, target_updates=1, min_updates=1, over_selection=1.0)
    device = ScriptedDevice(helper.row)
    device.check_in(later(DAY_S))
    assignment = device.check_in(later(DAY_S)).assignment
    assert assignment is not None
    device.deliver(assignment.assignment, later(DAY_S + 1), seed=1)

    found = departures_of(helper.row, since=START)
    assert [(one.kind, one.count, one.target_name) for one in found] == [
        ("update", 1, ""),
        ("portion", 1, "target"),
        ("profile", 2, ""),
    ]
    update, portion, profile = found
    assert (update.at, update.size_bytes) == (later(DAY_S + 1), Update.objects.get().size_bytes)
    assert (portion.federation, portion.size_bytes) == (peers.pk, Transfer.objects.get().size_bytes)
    assert (profile.at, profile.size_bytes > 0) == (later(1), True)
    assert [one.kind for one in departures_of(helper.row, since=later(DAY_S))] == ["update"]
    assert [one.kind for one in departures_of(target.row, since=START)] == ["profile"], "a request tells a profile"

    first, second = traffic_by_day(now=later(2 * DAY_S), days=30)
    told_bytes = sum(row.size_bytes for row in ReportedDay.objects.all())
    assert first == Day(START.date(), portion_bytes=portion.size_bytes, profile_bytes=told_bytes)
    assert (second.update_bytes, second.updates, second.portion_bytes) == (update.size_bytes, 1, 0)


def test_the_api_tells_it() -> None:
    make_peers()
    member = Member("member")
    member.tell(KNOWS_2, later(0))
    ReportedDay.objects.update(latest_at="2100-01-01T00:00Z")  # of the last month, whenever this runs
    api = APIClient()
    api.force_authenticate(create_operator(username="ada").operator)
    (told,) = api.get(f"/api/devices/{member.row.pk}/departures/").json()
    assert (told["kind"], told["count"], told["federation_slug"], told["target"]) == ("profile", 1, "peers", None)
