"""What an operator is told about a device, and what they can do to it: rounds follow the decision at once."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from coterie.fleet.models import Device
from coterie.registry.models import Role
from coterie.rounds.models import Assignment, RoundEvent
from tests.coterie.world import (
    ON_BATTERY,
    ScriptedDevice,
    fleet_of,
    later,
    make_device,
    make_federation,
    make_pair,
    make_version,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def at_work() -> tuple[ScriptedDevice, ...]:
    """Two devices that have been asked, in a round that is open."""
    pair = make_pair()
    make_version(pair)
    make_federation(pair, target_updates=2, min_updates=2, over_selection=1.0)
    devices = fleet_of(2)
    for device in (*devices, devices[0]):
        device.check_in(later(0))
    return tuple(devices)


def test_a_paused_device_gives_back_its_work_and_is_asked_no_more(
    api: APIClient, at_work: tuple[ScriptedDevice, ...]
) -> None:
    device = at_work[0]
    assert api.post(f"/api/devices/{device.row.pk}/pause/").json()["paused_at"] is not None
    part = Assignment.objects.get(device=device.row)
    assert (part.state, part.reason_code) == ("released", "rounds.held_back")
    directive = device.check_in(later(1))
    assert directive.assignment is None
    assert directive.wait is not None and directive.wait.code == "fleet.paused"
    assert api.post(f"/api/devices/{device.row.pk}/resume/").json()["paused_at"] is None
    directive = device.check_in(later(2))
    assert directive.wait is None or directive.wait.code != "fleet.paused"


def test_a_pinned_device_gets_its_version_and_no_round(api: APIClient, at_work: tuple[ScriptedDevice, ...]) -> None:
    device, pair = at_work[0], Assignment.objects.all()[0].round.federation.pair
    old = Assignment.objects.all()[0].round.base_version
    assert old is not None
    make_version(pair, seed=5)
    assert api.post(f"/api/devices/{device.row.pk}/pin/", {"version": str(old.pk)}).status_code == 200
    directive = device.check_in(later(1))
    assert (directive.assignment, directive.wait and directive.wait.code) == (None, "fleet.pinned")
    assert directive.manifest is not None and str(old.pk).encode() in directive.manifest.manifest
    cloud = make_version(pair, role=Role.CLOUD)
    refused = api.post(f"/api/devices/{device.row.pk}/pin/", {"version": str(cloud.pk)})
    assert (refused.status_code, refused.json()["code"]) == (404, "registry.unknown_version")
    api.post(f"/api/devices/{device.row.pk}/pin/", {"version": None})
    assert Device.objects.get(pk=device.row.pk).pinned_version == ""


def test_why_says_what_the_device_is_told(api: APIClient, at_work: tuple[ScriptedDevice, ...]) -> None:
    def why(device: ScriptedDevice) -> list[str]:
        told = api.get(f"/api/devices/{device.row.pk}/why/").json()
        assert told["training"] == (not told["reasons"])
        return [reason["code"] for reason in told["reasons"]]

    Device.objects.update(present_until=timezone.now() + timedelta(hours=1))
    assert why(at_work[0]) == []
    idle = ScriptedDevice(make_device("idle"))
    idle.check_in(later(0))
    Device.objects.update(present_until=timezone.now() + timedelta(hours=1))
    assert why(idle) == ["rounds.full"]
    idle.check_in(later(1), blockers=(ON_BATTERY,))
    Device.objects.update(present_until=timezone.now() + timedelta(hours=1))
    assert why(idle) == ["conditions.on_battery"]


def test_one_action_on_many_devices_is_done_to_all_or_none(api: APIClient, at_work: tuple[ScriptedDevice, ...]) -> None:
    keys = [str(device.row.pk) for device in at_work]
    assert api.post("/api/device-actions/", {"action": "add_tags", "devices": keys, "tags": ["lab", "pi"]}).json() == {
        "devices": 2
    }
    api.post("/api/device-actions/", {"action": "remove_tags", "devices": keys[:1], "tags": ["pi"]})
    assert [device.tags for device in Device.objects.order_by("name")] == [["lab"], ["lab", "pi"]]
    stranger = "6a1b6ad8-4ad4-4b5c-9d0d-5cf05dbd1bd4"
    refused = api.post("/api/device-actions/", {"action": "revoke", "devices": [*keys, stranger]})
    assert (refused.status_code, stranger in refused.json()["detail"]) == (400, True)
    bad = api.post("/api/device-actions/", {"action": "add_tags", "devices": keys, "tags": ["NO"]})
    assert (bad.status_code, bad.json()["code"]) == (422, "fleet.bad_tag")
    assert set(Device.objects.values_list("state", flat=True)) == {"enrolled"}


def test_a_round_is_replayed_from_its_timeline(api: APIClient, at_work: tuple[ScriptedDevice, ...]) -> None:
    first, second = at_work
    for device in at_work:
        directive = device.check_in(later(1))
        assert directive.assignment is not None
    part = Assignment.objects.get(device=first.row)
    first.deliver(str(part.pk), later(2), seed=1)
    api.post(f"/api/devices/{second.row.pk}/pause/")
    told = api.get(f"/api/rounds/{part.round_id}/timeline/").json()["results"]
    assert [line["kind"] for line in told if line["device"] is None][:3] == ["planned", "waits", "open"]
    of_first = [line["kind"] for line in told if line["device_name"] == "device-0"]
    of_second = [(line["kind"], line["reason_code"]) for line in told if line["device_name"] == "device-1"]
    assert of_first == ["asked", "delivered"]
    assert of_second == [("asked", ""), ("released", "rounds.held_back")]
    assert RoundEvent.objects.filter(round=part.round_id).count() == len(told)
    mine = api.get(f"/api/assignments/?device={first.row.pk}").json()["results"]
    assert [(row["round"], row["delivered"]["samples"]) for row in mine] == [(part.round_id, 20)]
